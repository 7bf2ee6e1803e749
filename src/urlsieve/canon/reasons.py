"""Status codes of the kernel go in, the words of the closed list of rejection reasons come out."""

OK, EMPTY, INVALID, SCHEME, HOST, TOO_LONG, RELATIVE, TRAP = range(8)

REASON_OF_CODE: tuple[str | None, ...] = (None, "empty", "invalid", "scheme", "host", "too_long", "relative", "trap")
