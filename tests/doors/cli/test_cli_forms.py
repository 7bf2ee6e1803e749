"""csv and jsonl in and out: the URL of one column, every other byte as it came."""

import csv
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_lab import Cli
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.canon import Canonicalizer
from urlsieve.doors.cli import forms
from urlsieve.doors.cli.csvform import Csv
from urlsieve.doors.cli.failures import InputError
from urlsieve.doors.cli.lines import Lines

TABLE = (
    b'id,url,"note, long"\r\n'
    b'1,https://example.com/a,"x ""q"", y"\r\n'
    b'2,https://EXAMPLE.com/a?utm_source=1,"two\nlines"\r\n'
    b'3,"https://example.com/b,c",z\r\n'
    b"\r\n"
    b"4,not a url,\xff\r\n"
    b"5\r\n"
)
NOTES = (
    b'{"n":1, "url":"https://example.com/a", "x":1.0e3}\n'
    b'{"n":2,"url":"https://EXAMPLE.com/a?utm_source=1","x":"\\u00e9\xc3\xa9"}\n'
    b"\n"
    b'{"n":3,"url":null}\n{"n":4,"url":7}\nnope\n{"link":"https://example.com/z"}\n'
    b'{"n":5,"url":"https://example.com/b"}'
)


def test_uniq_prints_csv_records_as_found_after_their_heading(cli: Cli) -> None:
    ran = cli("uniq", "--format", "csv", "--json", stdin=TABLE)
    assert 0 == ran.status, ran.err
    rows = TABLE.splitlines(keepends=True)
    assert rows[0] + rows[1] + rows[4] == ran.out
    report = ran.report
    assert (6, 2, 1, 2, 1) == tuple(report[name] for name in ("lines", "new", "seen", "rejected", "ignored"))
    assert {"count": 1, "first": "standard input, line 8: it has 1 fields, 'url' would be number 2"} == report["malformed"]


def test_with_key_only_the_url_s_field_changes(cli: Cli) -> None:
    out = cli("uniq", "--format", "csv", "--key", stdin=b'a,url\r\n"1",HTTP://e.example:80/%7Ex\r\n2,"http://e.example/?a=1,2"\r\n').out
    assert b'a,url\r\n"1",http://e.example/~x\r\n2,"http://e.example/?a=1,2"\r\n' == out
    out = cli(
        "uniq", "--format", "jsonl", "--key", "--column", "u", stdin=b'{ "u" :\t"HTTP://e.example:80/", "v": [1.50, {"u": 0}] }\n'
    ).out
    assert b'{ "u" :\t"http://e.example/", "v": [1.50, {"u": 0}] }\n' == out


def test_the_inverse_of_csv_is_the_duplicates(cli: Cli) -> None:
    rows = TABLE.splitlines(keepends=True)
    assert rows[0] + rows[2] + rows[3] == cli("uniq", "--format", "csv", "--inverse", stdin=TABLE).out
    assert NOTES.splitlines(keepends=True)[1] == cli("uniq", "--format", "jsonl", "--inverse", stdin=NOTES).out


def test_uniq_prints_json_lines_as_found_and_counts_what_is_none(cli: Cli) -> None:
    ran = cli("uniq", "--format", "jsonl", "--json", "--strict", "--rejected", "bad", stdin=NOTES)
    assert 5 == ran.status
    rows = NOTES.splitlines()
    assert [rows[0], rows[7]] == ran.lines
    assert (8, 2, 1, 3, 2) == tuple(ran.report[name] for name in ("lines", "new", "seen", "rejected", "ignored"))
    assert 3 == ran.report["malformed"]["count"]
    assert "line 5" in ran.report["malformed"]["first"]
    assert b"".join(b"invalid\t" + row + b"\n" for row in rows[4:7]) == (cli.directory / "bad").read_bytes()


@pytest.mark.parametrize("words", [[], ["--store", "s"]], ids=["one-shot", "durable"])
def test_a_store_remembers_records_of_any_format(cli: Cli, words: list[str]) -> None:
    rows = TABLE.splitlines(keepends=True)
    ran = cli("uniq", "--format", "csv", "--rejected", "bad", "-q", *words, stdin=TABLE)
    assert (0, rows[0] + rows[1] + rows[4]) == (ran.status, ran.out), ran.err
    assert b"relative\t4,not a url,\xff\r\ninvalid\t5\r\n" == (cli.directory / "bad").read_bytes()
    again = cli("uniq", "--format", "csv", "-q", *words, stdin=TABLE).out
    assert (rows[0] if words else rows[0] + rows[1] + rows[4]) == again
    if words:
        other = cli("uniq", "--format", "csv", "-q", "--inverse", *words, stdin=TABLE)
        assert b"".join(rows[:5]) == other.out


def test_canon_puts_the_canonical_form_in_the_url_s_place_and_leaves_the_rest(cli: Cli) -> None:
    ran = cli("canon", "--format", "csv", "--strict", stdin=TABLE)
    assert 5 == ran.status
    rows = TABLE.splitlines(keepends=True)
    expected = rows[0] + rows[1] + b'2,https://example.com/a,"two\nlines"\r\n' + rows[4] + rows[5] + b"4,,\xff\r\n5\r\n"
    assert expected == ran.out
    ran = cli("canon", "--format", "jsonl", stdin=NOTES)
    assert [1, 2, 3, 4, 5] == [json.loads(line)["n"] for line in ran.lines if b'"n"' in line]
    assert b'{"n":2,"url":"https://example.com/a","x":"\\u00e9\xc3\xa9"}' == ran.lines[1]


def test_seen_and_push_read_the_column(cli: Cli) -> None:
    ran = cli.on("push", "--format", "jsonl", "--json", "--rejected", "bad", stdin=NOTES)
    assert (2, 1, 3, 2) == tuple(ran.report[name] for name in ("new", "seen", "rejected", "ignored"))
    assert 3 == len((cli.directory / "bad").read_bytes().splitlines())
    ran = cli.on("seen", "--format", "csv", stdin=TABLE)
    rows = TABLE.splitlines(keepends=True)
    assert (
        b"verdict\t" + rows[0] + b"seen\t" + rows[1] + b"seen\t" + rows[2] + rows[3] + b"new\t" + rows[4]
        == ran.out[: -len(b"rejected:relative\t4,not a url,\xff\r\nrejected:invalid\t5\r\n")]
    )
    ran = cli.on("push", "--format", "csv", "--json", stdin=TABLE)
    assert (1, 2, 2) == tuple(ran.report[name] for name in ("new", "seen", "rejected"))


def test_a_rejected_line_of_text_stands_with_its_reason(cli: Cli) -> None:
    lines = b"https://example.com/\n\nmailto:x\r\nhttp://\n/relative\n"
    for words in ([], ["--store", "s"]):
        ran = cli("uniq", "--rejected", "bad", "--force", *words, stdin=lines)
        assert b"https://example.com/\n" == ran.out
        assert b"scheme\tmailto:x\r\nhost\thttp://\nrelative\t/relative\n" == (cli.directory / "bad").read_bytes()
    assert 0 == cli("canon", "--rejected", "bad", "--force", stdin=lines).status
    assert b"scheme\tmailto:x\r\nhost\thttp://\nrelative\t/relative\n" == (cli.directory / "bad").read_bytes()
    assert 0 == cli("push", "--store", "t", "--rejected", "bad", "--force", stdin=lines).status
    assert b"scheme\tmailto:x\r\nhost\thttp://\nrelative\t/relative\n" == (cli.directory / "bad").read_bytes()


def test_the_inverse_of_text_is_every_repeated_line(cli: Cli) -> None:
    lines = b"http://e.example/a\nhttp://e.example/b\nhttp://E.example/a\nhttp://e.example/a\n"
    assert b"http://E.example/a\nhttp://e.example/a\n" == cli("uniq", "--inverse", stdin=lines).out
    assert b"http://e.example/a\n" * 2 == cli("uniq", "--inverse", "--key", stdin=lines).out
    assert b"http://E.example/a\0http://e.example/a\0" == cli("uniq", "--inverse", "-0", stdin=lines.replace(b"\n", b"\0")).out


@pytest.mark.parametrize(
    ("words", "data", "says"),
    [
        (["--format", "csv"], b"a,b\n1,2\n", "there is no column 'url': it has 'a', 'b'"),
        (["--format", "csv", "--column", "u"], b"u,u\n1,2\n", "there are two columns 'u'"),
        (["--format", "csv", "-0"], b"url\n", "--null"),
        (["--column", "url"], b"x\n", "--format"),
        (["--format", "xml"], b"x\n", "xml"),
        (["--rejected", "out", "-o", "out", "--force"], b"x\n", "same file"),
    ],
    ids=str,
)
def test_a_format_that_cannot_be_meant_is_status_2(cli: Cli, words: list[str], data: bytes, says: str) -> None:
    ran = cli("uniq", *words, stdin=data)
    assert (2, b"") == (ran.status, ran.out)
    assert says in ran.err


def test_files_with_other_columns_are_not_printed_under_one_heading(cli: Cli) -> None:
    (cli.directory / "a.csv").write_bytes(b"url,n\nhttp://e.example/1,1\n")
    (cli.directory / "b.csv").write_bytes(b"n,url\n2,http://e.example/2\n")
    ran = cli("uniq", "--format", "csv", "a.csv", "a.csv", "b.csv")
    assert (2, b"url,n\nhttp://e.example/1,1\n") == (ran.status, ran.out)
    assert "b.csv: has other columns" in ran.err
    assert 2 == cli.on("push", "--format", "csv", "--json", "a.csv", "b.csv").report["new"]


def test_a_byte_order_mark_and_an_empty_file_are_nobody_s_column(cli: Cli) -> None:
    assert b"url\nhttp://e.example/\n" == cli("uniq", "--format", "csv", stdin=b"\xef\xbb\xbfurl\nhttp://e.example/\n").out
    for form in ("csv", "jsonl"):
        assert (0, b"") == (cli("uniq", "--format", form).status, cli("uniq", "--format", form).out)
    assert b"url\n" == cli("uniq", "--format", "csv", stdin=b"url\n").out


def test_a_quote_that_is_never_closed_is_rejected_with_its_line(cli: Cli) -> None:
    ran = cli("uniq", "--format", "csv", "--json", stdin=b'url\nhttp://e.example/1\n"http://e.example/2\nhttp://e.example/3\n')
    assert b"url\nhttp://e.example/1\n" == ran.out
    assert {"count": 1, "first": "standard input, line 3: a quote is not closed"} == ran.report["malformed"]


def test_a_record_without_end_is_refused_before_it_fills_the_memory(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "LONGEST", 1000)
    (cli.directory / "x.csv").write_bytes(b'url\n"' + b"x\n" * 2000)
    form = Csv(Lines([str(cli.directory / "x.csv")], kept=1000), "url", out=True)
    with pytest.raises(InputError, match=r"line 2: the record that begins here is longer than 1000 bytes"):
        list(form.batches(10))


def test_a_csv_record_is_handed_on_as_soon_as_it_is_there(cli: Cli) -> None:
    process = cli.start("uniq", "--format", "csv")
    assert process.stdin and process.stdout and process.stderr
    for record in (b"url\nhttp://e.example/1\n", b'"http://e.example/2"\n'):
        process.stdin.write(record)
        process.stdin.flush()
        assert record == b"".join(process.stdout.readline() for _ in range(record.count(b"\n")))
    process.communicate()
    assert 0 == process.returncode


# -- laws of the two readers, in this process

_CELL = st.text(st.sampled_from('ab,"\n\r\x00é\udcff '), max_size=8)
_ROWS = st.lists(st.lists(_CELL, min_size=3, max_size=3), max_size=8)


def _file(place: Path, text: str) -> str:
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    return str(place)


def _written(rows: list[list[str]], quoting: int) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=quoting, lineterminator="\r\n")  # type: ignore[arg-type]
    writer.writerow(["id", "url", "note"])
    writer.writerows(rows)
    return out.getvalue()


def _parsed(data: bytes) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline=""))


@given(rows=_ROWS, quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), block=st.integers(1, 9), size=st.integers(1, 4))
def test_csv_records_are_the_file_s_own_text_whatever_is_in_them(tmp_path_factory, rows, quoting, block, size) -> None:
    csv.field_size_limit(sys.maxsize)
    text = _written(rows, quoting)
    name = _file(tmp_path_factory.mktemp("csv") / "x.csv", text)
    form = Csv(Lines([name], block=block), "url", out=True)
    batches = list(form.batches(size))
    records = [record for batch in batches for record in batch.records]
    assert text.encode("utf-8", "surrogateescape") == form.heading + b"".join(record + b"\n" for record in records)
    assert [row[1] for row in rows] == [url.decode("utf-8", "surrogateescape") for batch in batches for url in batch.urls]
    changed = b"".join(form.replaced(record, 'new,"x"') + b"\n" for record in records)
    assert [[row[0], 'new,"x"', row[2]] for row in rows] == list(_parsed(changed))


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["url", "a", 'q"', "é"]), inner, max_size=3),
    max_leaves=8,
)


@given(
    before=st.dictionaries(st.sampled_from(["a", 'q"', "é", "urls"]), _JSON, max_size=3),
    after=st.dictionaries(st.sampled_from(["b", "\\", "Url"]), _JSON, max_size=3),
    url=st.none() | st.text(max_size=10),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(",", ":"), (" ,\t", " : ")]),
)
def test_json_lines_keep_every_other_field_when_the_url_is_replaced(before, after, url, ascii_only, separators) -> None:
    found = {**before, "url": url, **after}
    record = json.dumps(found, ensure_ascii=ascii_only, separators=separators).encode("utf-8", "surrogatepass")
    if not ascii_only and any("\ud800" <= c <= "\udfff" for c in json.dumps(found, ensure_ascii=False)):
        return  # not UTF-8: no JSON text
    form = forms.JsonLines(Lines([]), "url")
    changed = form.replaced(record, "http://new.example/")
    assert {**found, "url": "http://new.example/"} == json.loads(changed)
    assert list(found) == list(json.loads(changed))
    assert record == form.replaced(changed, "\0").replace(
        b'"\\u0000"', json.dumps(url, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    )


def test_a_profile_of_another_program_prints_that_program_s_fingerprint(cli: Cli) -> None:
    urls = b"http://e.com/?b&a\nmailto:a\nhttp://.\xc3\xa9.com/\n"
    keys = cli("canon", "--profile", "scrapy", stdin=urls)
    assert (0, b"http://e.com/?a=&b=\n\nhttp://.\xc3\xa9.com/\n") == (keys.status, keys.out)
    found = cli("canon", "--profile", "scrapy", "--fingerprint", "--json", stdin=urls).objects
    assert ["http://e.com/?a=&b=", None, "http://.é.com/"] == [line["key"] for line in found]
    assert ["e.com", None, ".é.com"] == [line["site"] for line in found]
    digests = ["" if digest is None else digest.hex() for digest in Canonicalizer(profile="scrapy").foreign_fingerprints(urls.splitlines())]
    assert digests == [line["fingerprint"] or "" for line in found]
    assert digests == cli("canon", "--profile", "scrapy", "--fingerprint", stdin=urls).out.decode().splitlines()
    assert cli("uniq", "--profile", "scrapy", "--key", stdin=urls * 2).out == b"http://e.com/?a=&b=\nhttp://.\xc3\xa9.com/\n"


def test_profile_classic_says_once_what_it_merges_wrongly(cli: Cli) -> None:
    urls = b"http://e.com/A\nhttp://e.com/a/\n"
    for words in (["canon"], ["uniq", "--key"], ["uniq", "--key", "--store", "memory:"], ["explain", "http://e.com/"]):
        ran = cli(*words, "--profile", "classic", stdin=b"" if words[0] == "explain" else urls)
        assert 0 == ran.status
        assert 1 == ran.err.count("profile classic merges URLs that can be two pages")
    assert b"http://e.com/a\n" == cli("uniq", "--key", "--profile", "classic", stdin=urls).out
    digest = hashlib.md5(b"http://e.com/a").hexdigest().encode()
    assert digest + b"\n" + digest + b"\n" == cli("canon", "--fingerprint", "--profile", "classic", stdin=urls).out
    assert "" == cli("canon", "--profile", "scrapy", stdin=urls).err
