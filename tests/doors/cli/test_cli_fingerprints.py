"""`import --fingerprints`: what another program keeps of its URLs makes them seen."""

import hashlib

import pytest
from cli_lab import Cli

from urlsieve.canon import Canonicalizer

URLS = [f"https://e.example/p{i}" for i in range(4)]
SCRAPY = [digest.hex() for digest in Canonicalizer(profile="scrapy").foreign_fingerprints(URLS) if digest]
MD5 = [hashlib.md5(url.encode()).hexdigest() for url in URLS]


def test_lines_in_hexadecimal_make_their_urls_seen(cli: Cli) -> None:
    ran = cli.on("import", "--fingerprints", "--as", "scrapy-sha1", stdin="# old\n\n" + "\r\n".join(SCRAPY[:2]).upper())
    assert (0, b"") == (ran.status, ran.out)
    assert "2 fingerprints, 2 new; the level scrapy-sha1 has 2" in ran.err
    ran = cli.on("seen", stdin="\n".join(URLS))
    assert [b"seen", b"seen", b"new", b"new"] == [line.split(b"\t")[0] for line in ran.lines]
    assert "2 new, 2 seen" in cli.on("push", stdin="\n".join(URLS)).err
    assert {"scrapy-sha1": 2} == cli.stats()["levels"]["imported"]
    assert b"levels.imported.scrapy-sha1" in cli.on("stats").out


def test_raw_bytes_several_files_and_a_name(cli: Cli) -> None:
    for number, digest in enumerate(MD5):
        (cli.directory / f"{number}").write_bytes(bytes.fromhex(digest))
    ran = cli.on("import", "--fingerprints", "--binary", "--as", "md5", "--name", "old", "0", "1", "1", "--json")
    assert {"level": "old", "fingerprints": 3, "new": 2, "rejected": 0, "in_level": 2} == ran.report
    assert b"\n  level: imported old\n" in cli.on("explain", URLS[0]).out
    assert "imported old" == cli.on("explain", "--json", URLS[0]).objects[0]["level"]


def test_lines_that_are_no_fingerprints_are_rejected(cli: Cli) -> None:
    lines = [SCRAPY[0], "xyz", MD5[0], SCRAPY[1] + "00", "é" * 40]
    ran = cli.on("import", "--fingerprints", "--as", "scrapy-sha1", "--rejected", "bad", "--strict", stdin="\n".join(lines))
    assert 5 == ran.status
    assert "5 fingerprints, 1 new, 4 rejected" in ran.err
    assert [b"invalid\t" + line.encode() for line in lines[1:]] == (cli.directory / "bad").read_bytes().splitlines()


def test_raw_bytes_that_end_in_the_middle_are_an_error_after_what_came(cli: Cli) -> None:
    ran = cli.on("import", "--fingerprints", "--binary", "--as", "md5", stdin=bytes.fromhex(MD5[0]) + b"half")
    assert 2 == ran.status
    assert "4 bytes of 16" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("--fingerprints",),
        ("--fingerprints", "--as", "known"),
        ("--as", "md5"),
        ("--binary",),
        ("--name", "x"),
        ("--fingerprints", "--as", "own"),
        ("--fingerprints", "--as", "md5", "--format", "csv"),
        ("--fingerprints", "--as", "md5", "--binary", "--null"),
        ("--fingerprints", "--as", "md5", "--name", "a b"),
    ],
)
def test_what_makes_no_sense_is_status_2(cli: Cli, words: tuple[str, ...]) -> None:
    ran = cli.on("import", *words)
    assert (2, b"") == (ran.status, ran.out)


def test_a_level_is_forgotten_and_what_was_marked_from_it_stays(cli: Cli) -> None:
    cli.on("import", "--fingerprints", "--as", "md5", stdin="\n".join(MD5))
    cli.on("push", stdin=URLS[0])
    assert 2 == cli.on("forget", "--imported", "other").status
    assert 2 == cli.on("forget", "--imported", "md5", URLS[0]).status
    assert b"forgot the imported level md5\n" == cli.on("forget", "--imported", "md5").out
    ran = cli.on("seen", stdin="\n".join(URLS))
    assert [b"seen", b"new", b"new", b"new"] == [line.split(b"\t")[0] for line in ran.lines]
