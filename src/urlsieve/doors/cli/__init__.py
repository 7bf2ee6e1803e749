"""The shell's door: arguments, bytes and JSON lines go in; bytes, JSON lines and an exit status come out."""
