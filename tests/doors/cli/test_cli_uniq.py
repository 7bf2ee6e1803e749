"""`uniq` without a store, and the manners that every filter shares."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from cli_lab import COMMAND, Cli, environment

A, B = b"http://example.com/a", b"http://example.com/b"


def peak(pid: int) -> int:
    """The most memory the process has had, in kilobytes."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM"))


def test_each_page_is_printed_once_as_first_found_and_in_order(cli: Cli) -> None:
    lines = [b"HTTP://Example.COM:80/b?utm_source=x", A, b"http://example.com/b", A, b"http://example.com/c#top"]
    ran = cli("uniq", stdin=b"\n".join(lines) + b"\n")
    assert (0, [lines[0], lines[1], lines[4]]) == (ran.status, ran.lines)


def test_key_prints_the_canonical_form(cli: Cli) -> None:
    ran = cli("uniq", "--key", stdin=b"HTTP://Example.COM:80/b?utm_source=x\n" + A + b"\n")
    assert [b"http://example.com/b", A] == ran.lines


def test_the_report_says_what_became_of_every_line(cli: Cli) -> None:
    ran = cli("uniq", "--json", stdin=A + b"\n\nmailto:x@y\n" + A + b"\n#c\n  \nhttp://[/\n/relative\n")
    assert 0 == ran.status
    expected = {"lines": 8, "ignored": 2, "new": 1, "seen": 1, "rejected": 4, "reasons": {"relative": 2, "scheme": 1, "host": 1}}
    assert expected == {name: ran.report[name] for name in expected}


def test_cli_03_a_hundred_duplicates_are_counted_and_not_only_the_first(cli: Cli) -> None:
    ran = cli("uniq", "--json", stdin=(A + b"\n") * 101 + b"http://[/\n" * 5)
    assert (1, 100, 5, {"host": 5}) == tuple(ran.report[name] for name in ("new", "seen", "rejected", "reasons"))


def test_for_people_the_report_is_one_line(cli: Cli) -> None:
    ran = cli("uniq", stdin=A + b"\n" + A + b"\nx:\n")
    assert ran.error.startswith("urlsieve: 3 lines: 1 new, 1 seen, 1 rejected (scheme 1)")


def test_quiet_says_nothing(cli: Cli) -> None:
    ran = cli("uniq", "-q", stdin=A)
    assert (0, A + b"\n", "") == (ran.status, ran.out, ran.err)


def test_stats_add_time_memory_and_expected_collisions(cli: Cli) -> None:
    report = cli("uniq", "--json", "--stats", stdin=A).report
    assert report["seconds"] > 0
    assert report["table_bytes"] > 0
    assert 0 < report["expected_collisions"] < 1e-18


def test_strict_makes_rejected_lines_a_partial_success(cli: Cli) -> None:
    assert 5 == cli("uniq", "--strict", stdin=A + b"\nnonsense\n").status
    assert 0 == cli("uniq", "--strict", stdin=A + b"\n\n").status


def test_crlf_is_no_part_of_the_url_and_lines_come_out_as_found(cli: Cli) -> None:
    ran = cli("uniq", stdin=A + b"\r\n" + A + b"\n" + B + b"\n" + B + b"\r\n")
    assert A + b"\r\n" + B + b"\n" == ran.out


def test_a_missing_last_newline_is_added(cli: Cli) -> None:
    assert A + b"\n" + B + b"\n" == cli("uniq", stdin=A + b"\n" + B).out


def test_a_byte_order_mark_is_no_part_of_the_first_url(cli: Cli) -> None:
    assert A + b"\n" == cli("uniq", stdin=b"\xef\xbb\xbf" + A + b"\n").out


def test_null_separates_records_in_and_out(cli: Cli) -> None:
    odd = b"http://example.com/\na"  # the parser removes the newline
    ran = cli("uniq", "-0", "--json", stdin=odd + b"\0" + A + b"\0" + B)
    assert odd + b"\0" + B + b"\0" == ran.out
    assert (3, 2, 1) == tuple(ran.report[name] for name in ("lines", "new", "seen"))
    assert b"http://example.com/a\0" == cli("uniq", "-0", "--key", stdin=odd).out


def test_bytes_that_are_not_utf_8_come_out_as_they_went_in(cli: Cli) -> None:
    odd = b"http://example.com/\xff\xfe?q=\xe9"
    assert odd + b"\n" == cli("uniq", stdin=odd + b"\n" + odd).out


def test_files_follow_one_another_and_their_lines_are_not_joined(cli: Cli) -> None:
    (cli.directory / "one").write_bytes(A)
    (cli.directory / "two").write_bytes(B + b"\n")
    ran = cli("uniq", "one", "-", "two", stdin=b"http://example.com/stdin")
    assert [A, b"http://example.com/stdin", B] == ran.lines


def test_binary_garbage_is_rejected_line_by_line_and_counted(cli: Cli) -> None:
    garbage = bytes(range(256)) * 4_000 + b"\n" + A + b"\n" + bytes(reversed(range(256))) * 10
    ran = cli("uniq", "--json", stdin=garbage)
    assert (0, A + b"\n") == (ran.status, ran.out)
    report = ran.report
    assert report["lines"] == report["new"] + report["seen"] + report["rejected"] + report["ignored"]
    assert garbage.count(b"\n") + 1 == report["lines"]


def test_nul_bytes_in_a_line_are_data(cli: Cli) -> None:
    ran = cli("uniq", "--json", stdin=b"\0\0\n" + b"http://example.com/x\0y\n" + A + b"\n")
    assert [b"http://example.com/x\0y", A] == ran.lines
    assert (1, 0) == (ran.report["ignored"], ran.report["rejected"])


@pytest.mark.parametrize("size", [65_536, 65_537, 1_048_576, 10_000_000])
def test_a_line_is_too_long_for_a_url_from_65537_bytes(cli: Cli, size: int) -> None:
    long = b"http://example.com/?q=".ljust(size, b"x")
    ran = cli("uniq", "--json", stdin=A + b"\n" + long + b"\n" + B)
    assert 0 == ran.status
    if size <= 65_536:
        assert [A, long, B] == ran.lines
    else:
        assert ([A, B], {"too_long": 1}) == (ran.lines, ran.report["reasons"])


def test_a_long_first_line_and_long_lines_in_a_row_do_not_swallow_their_neighbours(cli: Cli) -> None:
    long = b"x" * 3_000_000
    ran = cli("uniq", "--json", stdin=b"\n".join([long, A, long, long, B, long]))
    assert ([A, B], {"too_long": 4}, 6) == (ran.lines, ran.report["reasons"], ran.report["lines"])


@pytest.mark.slow
def test_a_line_of_a_gigabyte_takes_no_memory(cli: Cli) -> None:
    process = cli.start("uniq", "--json")
    assert process.stdin is not None
    process.stdin.write(A + b"\n")
    chunk = b"http://example.com/" + b"x" * (1 << 20)
    for _ in range(1024):
        process.stdin.write(chunk)
    process.stdin.write(b"\n" + B + b"\n")
    process.stdin.flush()
    used = peak(process.pid)
    out, err = process.communicate(timeout=120)
    assert [A, B] == out.splitlines()
    assert {"too_long": 1} == json.loads(err)["reasons"]
    assert used < 60_000


def test_what_has_come_is_answered_while_the_input_stays_open(cli: Cli) -> None:
    process = cli.start("uniq", "-q")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(A + b"\n")
    process.stdin.flush()
    assert A + b"\n" == process.stdout.readline()
    assert (b"", b"") == process.communicate(timeout=60)
    assert 0 == process.returncode


def test_a_file_that_does_not_exist_stops_before_anything_is_done(cli: Cli) -> None:
    (cli.directory / "good").write_bytes(A)
    ran = cli("uniq", "good", "missing.txt")
    assert (2, b"") == (ran.status, ran.out)
    assert "missing.txt" in ran.error


def test_a_directory_is_no_input(cli: Cli) -> None:
    ran = cli("uniq", ".")
    assert 2 == ran.status
    assert "is a directory" in ran.error


def test_an_unreadable_file_is_named(cli: Cli) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read every file")
    secret = cli.directory / "secret"
    secret.write_bytes(A)
    secret.chmod(0)
    ran = cli("uniq", "secret")
    assert 2 == ran.status
    assert "secret" in ran.error
    assert "ermission" in ran.error


def test_a_read_that_fails_half_way_names_the_file(cli: Cli) -> None:
    ran = cli("uniq", "/proc/self/mem")  # can be opened; reading its first page is an error
    assert 2 == ran.status
    assert "/proc/self/mem" in ran.err
    assert "Traceback" not in ran.err


def test_a_closed_pipe_ends_without_a_word(cli: Cli) -> None:
    (cli.directory / "urls").write_bytes(b"".join(b"http://example.com/%d\n" % i for i in range(200_000)))
    process = cli.start("uniq", "urls", stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    assert b"http://example.com/0\n" == process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    assert (None, b"") == process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGPIPE)


def test_an_output_file_is_not_overwritten_without_force(cli: Cli) -> None:
    (cli.directory / "out").write_bytes(b"precious\n")
    ran = cli("uniq", "-o", "out", stdin=A)
    assert 2 == ran.status
    assert "--force" in ran.err
    assert b"precious\n" == (cli.directory / "out").read_bytes()
    assert 0 == cli("uniq", "-o", "out", "--force", stdin=A).status
    assert A + b"\n" == (cli.directory / "out").read_bytes()


def test_an_input_is_never_its_own_output(cli: Cli) -> None:
    (cli.directory / "urls").write_bytes(A + b"\n")
    with (cli.directory / "urls").open("ab") as both:
        ran = subprocess.run(
            [*COMMAND, "uniq", "-q", "urls"], stdout=both, stderr=subprocess.PIPE, cwd=cli.directory, env=environment(), check=False
        )
    assert 2 == ran.returncode
    assert 2 == cli("uniq", "urls", "-o", "urls", "--force").status
    assert A + b"\n" == (cli.directory / "urls").read_bytes()


def test_a_full_disk_under_the_output_is_status_3_and_names_the_file(cli: Cli, small_disk: Path) -> None:
    urls = b"".join(b"http://example.com/%d/%s\n" % (i, b"x" * 80) for i in range(40_000))
    ran = cli("uniq", "-q", "-o", small_disk / "out", stdin=urls)
    assert 3 == ran.status
    assert "No space left" in ran.error
    assert "out" in ran.error


def test_a_full_device_is_status_3(cli: Cli) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run([*COMMAND, "uniq", "-q"], input=A, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
    assert 3 == ran.returncode
    assert b"standard output: No space left" in ran.stderr


def test_ctrl_c_is_status_130_and_what_was_printed_is_reported(cli: Cli) -> None:
    process = cli.start("uniq", "--json")
    assert process.stdin is not None
    assert process.stdout is not None
    for line in (A, B):  # when the second is out, the first is surely counted
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert 130 == process.returncode
    report, error = map(json.loads, err.splitlines())
    assert 1 <= report["new"] <= 2
    assert ("interrupted", 130) == (error["error"], error["exit"])


def test_memory_is_16_bytes_a_page_and_not_the_pages(cli: Cli) -> None:
    """At most 24 bytes a page and 60 MB, here with 40 MB of pages; ten million lines are the bench's."""
    process = cli.start("uniq", "-q", stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    pages = 200_000
    for i in range(pages):
        process.stdin.write(b"http://example.com/%d/%s\n" % (i, b"y" * 180))
    process.stdin.flush()
    assert peak(process.pid) < 60_000 + pages * 24 // 1024
    process.communicate(timeout=60)
    assert 0 == process.returncode
