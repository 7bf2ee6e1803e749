"""Pure decisions about URLs and their groups. The clock and chance are arguments; nothing here reads or writes anything."""
