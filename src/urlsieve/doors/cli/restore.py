"""A folder that `backup` made goes in; the store that is named has what it has."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, store_address
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "restore",
        "Make a store of a backup. An existing store is replaced only with --force, in one step: a crash leaves one or the other.\n"
        "Leases given after the backup was made are lost: their tokens are refused. Whoever has the old store open is told so.",
        example="urlsieve restore /backups/job-monday --store S",
    )
    parser.add_argument("backup", metavar="BACKUP", help="the folder that `backup` made")
    parser.add_argument("--force", action="store_true", help="replace the store that is there")
    add_store(parser)
    add_json(parser)
    namespace = parser.parse(arguments)
    address = store_address(namespace)
    import urlsieve
    from urlsieve.opening import restore

    restore(namespace.backup, address, force=namespace.force)
    with urlsieve.open(address, create=False) as sieve:
        seen = sieve.stats().seen
    Output().write(json_line({"store": address, "seen": seen}) if namespace.json else human(f"{address}: restored, {seen:,} URLs seen\n"))
    return failures.OK
