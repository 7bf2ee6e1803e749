"""`python -m urlsieve`: the same as the command `urlsieve`."""

from urlsieve.doors.cli.main import entry

raise SystemExit(entry())
