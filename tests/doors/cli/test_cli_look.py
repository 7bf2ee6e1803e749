"""Commands that look and that look after: canon, explain, seen, why, stats, forget, purge, verify, doctor."""

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_lab import Cli

import urlsieve

Pushed = Callable[..., list[str]]


# -- canon


def test_canon_prints_one_line_for_each_line_and_an_empty_one_where_there_is_no_url(cli: Cli) -> None:
    ran = cli("canon", stdin="HTTP://Example.com:80/a?utm_source=x\r\nnonsense\n\nhttp://example.com/b")
    assert (0, b"http://example.com/a\n\n\nhttp://example.com/b\n", "") == (ran.status, ran.out, ran.err)


def test_canon_says_in_json_why_a_line_is_no_url(cli: Cli) -> None:
    ran = cli("canon", "--json", stdin=b"http://Example.com/\xff\nnonsense\nhttp://x/" + b"y" * 70_000)
    expected = [
        {"url": "http://Example.com/\udcff", "key": "http://example.com/%FF", "site": "example.com", "reason": None},
        {"url": "nonsense", "key": None, "site": None, "reason": "relative"},
        {"url": None, "key": None, "site": None, "reason": "too_long"},
    ]
    assert expected == ran.objects


def test_canon_prints_the_fingerprint_that_the_library_gives(cli: Cli) -> None:
    expected = urlsieve.fingerprint("http://example.com/a").hex()
    assert expected.encode() + b"\n" == cli("canon", "--fingerprint", stdin="http://EXAMPLE.com/a#x").out
    assert expected == cli("canon", "--fingerprint", "--json", "http://example.com/a").objects[0]["fingerprint"]


def test_canon_takes_a_profile_a_base_and_nul(cli: Cli) -> None:
    assert b"http://example.com/?utm_source=x\n" == cli("canon", "--profile", "exact", stdin="http://example.com/?utm_source=x#y").out
    assert b"http://example.com/b\0http://example.com/c\0" == cli("canon", "-0", "--base", "http://example.com/a", stdin=b"b\0c").out


def test_strict_canon_is_partial_when_a_line_has_no_canonical_form(cli: Cli) -> None:
    assert 5 == cli("canon", "--strict", stdin="nonsense").status


def test_the_key_that_uniq_prints_is_the_one_that_canon_prints(cli: Cli) -> None:
    urls = "http://Example.com/%7ea?b=1&a=2\nhttp://example.com/中文\nhttp://user@EXAMPLE.com/;jsessionid=0123456789abcdef\n"
    assert cli("canon", stdin=urls).out == cli("uniq", "--key", "-q", stdin=urls).out


# -- explain


def test_explain_says_which_steps_change_a_url(cli: Cli) -> None:
    ran = cli("explain", "HTTP://Example.com:80/?b=1&a=2&utm_source=x")
    assert 0 == ran.status
    text = ran.out.decode()
    assert "utm_source" in text
    assert "key: http://example.com/?a=2&b=1" in text


@pytest.mark.parametrize(("other", "same"), [("http://EXAMPLE.com/a#top", True), ("http://example.com/A", False)])
def test_explain_says_whether_two_urls_are_the_same_and_both_are_status_0(cli: Cli, other: str, same: bool) -> None:
    ran = cli("explain", "--json", "http://example.com/a", other)
    assert 0 == ran.status
    (found,) = ran.objects
    assert (same, ["same", "steps", "keys"]) == (found["same"], list(found))
    assert same is (found["keys"][0] == found["keys"][1])
    assert ("not the same" in cli("explain", "http://example.com/a", other).out.decode()) is not same


def test_explain_of_what_is_no_url_says_why(cli: Cli) -> None:
    ran = cli("explain", "http://[/")
    assert 0 == ran.status
    assert "rejected as host" in ran.out.decode()


def test_cli_03_explain_with_a_store_adds_seen_state_and_what_is_known(cli: Cli) -> None:
    cli.on("push", "--priority", "P0", stdin="http://example.com/a?utm_source=x")
    (found,) = cli.on("explain", "--json", "http://EXAMPLE.com/a").objects
    assert (True, "pending", "table", None) == tuple(found[name] for name in ("seen", "state", "level", "history"))
    assert ("http://example.com/a?utm_source=x", 300) == (found["entry"]["url"], found["entry"]["priority"])
    (found,) = cli.on("explain", "--json", "http://example.com/a", "http://example.com/b").objects
    assert ([True, False], ["pending", "unseen"]) == (found["seen"], found["state"])
    text = cli.on("explain", "http://example.com/a").out.decode()
    assert "in the store: seen" in text
    assert "state: pending" in text


def test_explain_shows_no_password_and_nothing_that_a_terminal_obeys(cli: Cli) -> None:
    ran = cli("explain", "http://user:S3cret@example.com/\x1b[31m?q=\x07")
    assert b"S3cret" not in ran.out
    assert b"\x1b" not in ran.out
    assert b"***@" in ran.out


def test_explain_takes_bytes_that_are_not_utf_8(cli: Cli) -> None:
    assert ["http://example.com/%FF"] == cli("explain", "--json", b"http://example.com/\xff").objects[0]["keys"]


# -- seen


def test_seen_prints_verdict_tab_and_url_and_writes_nothing(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/a")
    before = cli.stats()
    ran = cli.on("seen", stdin=b"HTTP://example.com/a\r\n\nhttp://example.com/\xff\nnonsense\n")
    assert 0 == ran.status
    assert [b"seen\tHTTP://example.com/a", b"new\thttp://example.com/\xff", b"rejected:relative\tnonsense"] == ran.lines
    assert before == cli.stats()


def test_seen_speaks_json(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/a")
    expected = [{"url": "http://example.com/a", "verdict": "seen"}, {"url": "http://example.com/b", "verdict": "new"}]
    assert expected == cli.on("seen", "--json", stdin="http://example.com/a\nhttp://example.com/b").objects


@pytest.mark.parametrize(("urls", "status"), [("a", 0), ("a\nb", 1), ("b", 1), ("a\nnonsense:", 1), ("", 0)])
def test_quiet_seen_answers_with_its_status_alone(cli: Cli, urls: str, status: int) -> None:
    cli.on("push", stdin="http://example.com/a")
    ran = cli.on("seen", "--quiet", stdin="".join(f"http://example.com/{url}\n" if len(url) == 1 else url for url in urls.split("\n")))
    assert (status, b"", "") == (ran.status, ran.out, ran.err)


# -- why and stats


def test_why_gives_the_reason_for_a_site_and_for_a_url(cli: Cli, pushed: Pushed) -> None:
    (url,) = pushed(1)
    cli.pop(1)
    assert b"pending" in cli.on("why", "site0.example").out
    assert ["leased"] == cli.on("why", "--json", url).objects[0]["reasons"]
    assert ["unseen"] == cli.on("why", "--json", "http://never.example/").objects[0]["reasons"]
    assert 2 == cli.on("why", "http://[/").status


def test_stats_have_the_promised_fields(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    cli.on("push", stdin="nonsense")
    (stats,) = cli.on("stats", "--json").objects
    promised = (
        *("accepted", "pending", "leased", "delayed", "done", "dead", "known", "seen", "rejected", "sites", "groups", "levels"),
        *("unique_estimate", "expected_collisions", "canonical", "bytes", "oldest_pending", "epoch"),
    )
    assert [] == [name for name in promised if name not in stats]
    assert (3, 3, 3, {"relative": 1}) == (stats["accepted"], stats["pending"], stats["seen"], stats["rejected"])
    assert {"cache", "table", "filter", "runs"} == set(stats["levels"])
    assert {"version", "profile", "rules_generation", "rules_suspended"} == set(stats["canonical"])
    assert {"seen", "queue", "text", "history", "total"} == set(stats["bytes"])


def test_stats_for_people_are_one_figure_a_line(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    rows = dict(line.split() for line in cli.on("stats").out.decode().splitlines())
    assert ("3", "3", "safe") == (rows["accepted"], rows["pending"], rows["canonical.profile"])


# -- forget and purge


def test_forget_takes_urls_from_arguments_and_files(cli: Cli, pushed: Pushed) -> None:
    urls = pushed(4)
    (cli.directory / "list").write_text(urls[1] + "\r\n\nhttp://never.example/\nnonsense\n")
    assert [{"urls": 4, "forgotten": 2}] == cli.on("forget", "--json", urls[0], "list").objects
    assert b"forgot 0 of 1 URLs\n" == cli.on("forget", urls[0]).out
    assert 2 == cli.stats()["accepted"]
    assert 1 == cli.on("push", "--json", urls[0]).report["new"]


def test_purge_forgets_one_exact_site(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/1\nhttp://example.com/2\nhttp://www.example.com/\nhttp://example.com:81/\n")
    expected = [{"site": "example.com", "purged": 2}, {"site": "none.example", "purged": 0}]
    assert expected == cli.on("purge", "--json", "example.com", "none.example").objects
    assert 2 == cli.stats()["accepted"]
    assert b"example.com:81: 1 URLs forgotten\n" == cli.on("purge", "example.com:81").out


def test_a_site_that_is_none_is_refused(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    for name in ("http://example.com/", "a b", ""):
        assert 2 == cli.on("purge", name).status
    assert 1 == cli.stats()["accepted"]


# -- verify and doctor


def test_verify_says_sound_of_a_sound_store(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    assert (0, b"sound\n") == ((ran := cli.on("verify", "--deep")).status, ran.out)
    assert [{"sound": True, "problems": []}] == cli.on("verify", "--json").objects


def break_a_count(cli: Cli) -> None:
    """One waiting entry goes behind the counters' back."""
    database = sqlite3.connect(Path(cli.store) / "ledger.db")
    assert 1 == database.execute("DELETE FROM pending WHERE id = (SELECT min(id) FROM pending)").rowcount
    database.commit()
    database.close()


def test_verify_finds_an_entry_that_went_missing_and_answers_no(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    break_a_count(cli)
    ran = cli.on("verify", "--deep")
    assert 1 == ran.status
    assert b"sound" not in ran.out
    (found,) = cli.on("verify", "--deep", "--json").objects
    assert (False, ran.out.decode().splitlines()) == (found["sound"], found["problems"])


def test_doctor_says_what_it_finds_and_what_to_do(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    ran = cli.on("doctor")
    assert 0 == ran.status
    assert all(line.split()[0] in ("ok", "warn") for line in ran.out.decode().splitlines())
    findings = cli.on("doctor", "--json").objects
    assert {"level", "what", "advice"} == set(findings[0])
    assert json.loads(json.dumps(findings)) == findings


def test_stats_estimate_different_urls_and_the_overlap_of_days(cli: Cli) -> None:
    cli.on("push", stdin="".join(f"http://example.com/{i}\n" for i in range(200)))
    (stats,) = cli.on("stats", "--json").objects
    assert abs(stats["unique_estimate"] - 200) < 8
    today = time.strftime("%Y-%m-%d", time.gmtime())
    (told,) = cli.on("stats", "--json", "--overlap", today, "1999-01-01").objects
    assert (0, 0) == (told["days"]["1999-01-01"], told["both"])
    assert abs(told["days"][today] - 200) < 8
    assert "standard_error" in cli.on("stats", "--overlap", today, today).out.decode()
    assert 2 == cli.on("stats", "--overlap", today, "yesterday").status
