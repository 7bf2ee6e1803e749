"""The queue by hand or from any language: push, pop, done, fail, skip, extend, release."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_lab import Cli

Pushed = Callable[..., list[str]]
POP_KEYS = ["url", "key", "site", "group", "token", "attempt", "priority", "depth", "via", "deadline", "meta", "previous"]


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


# -- push and pop


def test_a_url_goes_in_twice_and_comes_out_once(cli: Cli) -> None:
    first = cli.on("push", "--json", stdin="http://example.com/a?utm_source=x\nHTTP://EXAMPLE.com/a\n")
    assert (0, b"", 1, 1) == (first.status, first.out, first.report["new"], first.report["seen"])
    (lease,) = cli.pop(10)
    assert "http://example.com/a?utm_source=x" == lease["url"]
    assert "http://example.com/a" == lease["key"]
    assert [] == cli.pop(10)


def test_pop_prints_exactly_the_promised_keys_one_object_a_line(cli: Cli) -> None:
    cli.on("push", "--priority", "P1", "--depth", "2", "--via", "http://v/", "--meta", '{"a": [1]}', stdin="http://example.com:8080/x")
    before = time.time()
    (lease,) = cli.pop(1, "--lease", "100")
    assert POP_KEYS == list(lease)
    expected = {
        "url": "http://example.com:8080/x",
        "key": "http://example.com:8080/x",
        "site": "example.com:8080",
        "group": "example.com:8080",
        "attempt": 1,
        "priority": 200,
        "depth": 2,
        "via": "http://v/",
        "meta": {"a": [1]},
        "previous": None,
    }
    assert expected == {name: lease[name] for name in expected}
    assert before + 99 < lease["deadline"] < time.time() + 101


@pytest.mark.parametrize(("given", "priority"), [("P0", 300), ("p1", 200), ("P2", 100), ("P3", 0), ("-7", -7), ("5", 5)])
def test_priorities_have_names_and_numbers(cli: Cli, given: str, priority: int) -> None:
    assert 0 == cli.on("push", "--priority", given, stdin="http://example.com/").status
    assert priority == cli.pop(1)[0]["priority"]


def test_larger_priorities_come_first_and_equal_ones_in_order_of_arrival(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/1\nhttp://example.com/2\n")
    cli.on("push", "--priority", "P0", stdin="http://example.com/0\n")
    assert ["http://example.com/0", "http://example.com/1", "http://example.com/2"] == [lease["url"] for lease in cli.pop(9)]


def test_the_url_comes_out_as_found_byte_for_byte(cli: Cli) -> None:
    found = [b"http://example.com/\xff\xfe", "http://example.com/中文?q=é".encode(), b"HTTP://user:pw@example.com:80/%7e/../b?b=1&a=2#top"]
    cli.on("push", "-q", stdin=b"\r\n".join(found))
    assert found == [lease["url"].encode("utf-8", "surrogateescape") for lease in cli.pop(9)]


def test_mode_again_brings_back_what_is_done(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/")
    (lease,) = cli.pop(1)
    cli.on("done", stdin=lines({"token": lease["token"]}))
    assert 1 == cli.on("push", "--json", stdin="http://example.com/").report["seen"]
    assert 1 == cli.on("push", "--json", "--mode", "again", stdin="http://example.com/").report["requeued"]
    assert 1 == len(cli.pop(1))


def test_mode_raise_lifts_what_waits(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/1\nhttp://example.com/2\n")
    assert 1 == cli.on("push", "--json", "--mode", "raise", "--priority", "P0", stdin="http://example.com/2").report["raised"]
    assert "http://example.com/2" == cli.pop(1)[0]["url"]


def test_relative_urls_need_a_base(cli: Cli) -> None:
    assert {"relative": 1} == cli.on("push", "--json", stdin="b").report["reasons"]
    assert 1 == cli.on("push", "--json", "--base", "http://example.com/a/", stdin="b").report["new"]
    assert "http://example.com/a/b" == cli.pop(1)[0]["key"]


def test_what_is_due_later_is_not_popped_now(cli: Cli) -> None:
    cli.on("push", "--due", str(time.time() + 1000), stdin="http://example.com/later")
    cli.on("push", "--due", str(time.time() - 1000), stdin="http://example.com/now")
    assert ["http://example.com/now"] == [lease["url"] for lease in cli.pop(9)]
    assert 1 == cli.stats()["delayed"]


def test_imp_07_blank_lines_and_comments_are_ignored_and_counted(cli: Cli) -> None:
    ran = cli.on("push", "--json", stdin="http://example.com/1\n\n# comment\nhttp://example.com/2\n\n")
    expected = {"lines": 5, "ignored": 3, "new": 2, "seen": 0, "raised": 0, "requeued": 0, "rejected": 0, "reasons": {}}
    assert (0, expected) == (ran.status, ran.report)
    assert "5 lines: 0 new, 2 seen, 3 ignored" in cli.on("push", stdin="http://example.com/1\n\n# comment\nhttp://example.com/2\n\n").error


def test_imp_09_one_bad_line_of_many_stops_nothing_and_a_second_run_changes_nothing(cli: Cli) -> None:
    text = "".join(f"http://example.com/{i}\n" if i != 5_000 else "http://[bad/\n" for i in range(10_000))
    (cli.directory / "urls").write_text(text)
    first, second = (cli.on("push", "--json", "urls").report for _ in range(2))
    assert (9_999, 0, {"host": 1}) == (first["new"], first["seen"], first["reasons"])
    assert (0, 9_999, {"host": 1}) == (second["new"], second["seen"], second["reasons"])
    assert 9_999 == cli.stats()["accepted"]


def test_cli_03_the_report_and_the_store_count_rejections_by_reason(cli: Cli) -> None:
    bad = "mailto:x@y\nhttp://[/\nrelative\nhttp://example.com:99999/\n" + "http://example.com/?" + "x" * 70_000 + "\n"
    reasons = {"scheme": 1, "host": 1, "relative": 1, "invalid": 1, "too_long": 1}
    ran = cli.on("push", "--json", stdin=bad + "http://example.com/\n" * 101)
    assert (1, 100, 5, reasons) == tuple(ran.report[name] for name in ("new", "seen", "rejected", "reasons"))
    assert reasons == cli.stats()["rejected"]


def test_strict_push_is_partial_when_a_line_is_rejected_and_the_rest_is_pushed(cli: Cli) -> None:
    ran = cli.on("push", "--strict", stdin="http://example.com/\nnonsense\n")
    assert 5 == ran.status
    assert 1 == len(cli.pop(9))


def test_a_url_may_be_an_argument(cli: Cli) -> None:
    assert 1 == cli.on("push", "--json", "https://example.com/x").report["new"]
    assert "https://example.com/x" == cli.pop(1)[0]["url"]


def test_urlsieve_store_names_the_store(cli: Cli) -> None:
    env = {"URLSIEVE_STORE": cli.store}
    assert 0 == cli("push", stdin="http://example.com/", env=env).status
    assert 1 == len(cli("pop", env=env).objects)


def test_groups_narrow_a_pop(cli: Cli, pushed: Pushed) -> None:
    pushed(5)
    assert {"site3.example", "site1.example"} == {lease["group"] for lease in cli.pop(9, "--groups", "site3.example", "site1.example")}


def test_pop_with_nothing_to_give_prints_nothing_and_is_fine(cli: Cli, pushed: Pushed) -> None:
    pushed(0)
    ran = cli.on("pop")
    assert (0, b"", "") == (ran.status, ran.out, ran.err)


def test_pop_waits_for_something_when_told_to(cli: Cli, pushed: Pushed) -> None:
    pushed(0)
    process = cli.start("pop", "--store", cli.store, "--wait", "60")
    time.sleep(0.5)
    assert process.poll() is None
    cli.on("push", stdin="http://example.com/")
    out, err = process.communicate(timeout=60)
    assert (0, b"") == (process.returncode, err)
    assert "http://example.com/" == json.loads(out)["url"]


@pytest.mark.parametrize("lease", ["0", "-5"])
def test_a_lease_of_no_time_is_a_usage_error_and_takes_nothing(cli: Cli, pushed: Pushed, lease: str) -> None:
    pushed(1)
    ran = cli.on("pop", "--lease", lease)
    assert (2, b"") == (ran.status, ran.out)
    assert "lease" in ran.error
    assert 1 == len(cli.pop(1))


def test_what_pop_could_not_print_goes_back_untouched(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    with Path("/dev/full").open("wb") as full:
        process = cli.start("pop", "-n", "3", "--store", cli.store, stdout=full)
        _, err = process.communicate(timeout=60)
    assert 3 == process.returncode
    assert b"standard output" in err
    leases = cli.pop(9)
    assert [1, 1, 1] == [lease["attempt"] for lease in leases]


def test_a_pop_into_a_closed_pipe_says_nothing_and_takes_nothing(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    process = cli.start("pop", "-n", "3", "--store", cli.store)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert (None, b"") == process.communicate(timeout=60)
    assert 3 == cli.stats()["pending"]


# -- what becomes of a lease


def test_done_settles_and_accepts_the_links_first(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/a/")
    (lease,) = cli.pop(1)
    ran = cli.on("done", stdin=lines({"token": lease["token"], "status": 200, "links": ["b", "http://other.example/", "mailto:x"]}))
    assert 0 == ran.status
    assert [{"token": lease["token"], "state": "done", "change": ran.objects[0]["change"]}] == ran.objects
    found = {lease["key"]: (lease["depth"], lease["via"]) for lease in cli.pop(9)}
    assert {"http://example.com/a/b": (1, "http://example.com/a/"), "http://other.example/": (1, "http://example.com/a/")} == found


def test_a_link_that_is_not_utf_8_survives_the_trip_through_json(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/")
    (lease,) = cli.pop(1)
    assert 0 == cli.on("done", stdin=lines({"token": lease["token"], "links": ["http://example.com/\udcff"]})).status
    assert b"http://example.com/\xff" == cli.pop(1)[0]["url"].encode("utf-8", "surrogateescape")


def test_a_popped_line_may_come_back_whole(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    ran = cli.on("done", stdin=cli.on("pop", "-n", "3").out)
    assert (0, ["done"] * 3) == (ran.status, [answer["state"] for answer in ran.objects])


def test_redirect_targets_are_entries_of_their_own(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/old")
    (lease,) = cli.pop(1)
    record = {"token": lease["token"], "final_url": "http://example.com/new", "redirects": ["http://example.com/hop"]}
    assert 0 == cli.on("done", stdin=lines(record)).status
    assert b"seen" == cli.on("seen", "http://example.com/new").out.split(b"\t")[0]
    assert 3 == cli.stats()["done"]


def test_every_field_of_done_is_taken(cli: Cli) -> None:
    (token,) = cli.tokens(1)
    record = {
        "token": token,
        "status": 200,
        "links": [],
        "title": "t",
        "published": "2026-01-01",
        "body": "b",
        "html": "<p>",
        "signature": "s",
        "final_url": None,
        "redirects": [],
        "etag": '"e"',
        "last_modified": "Mon",
        "elapsed": 0.5,
        "size": 5120,
    }
    assert (0, "done") == ((ran := cli.on("done", stdin=lines(record))).status, ran.objects[0]["state"])


def test_fail_delays_and_a_status_decides(cli: Cli) -> None:
    tokens = cli.tokens(4)
    records = [
        {"token": tokens[0], "reason": "timeout"},
        {"token": tokens[1], "reason": "http", "status": 404},
        {"token": tokens[2], "reason": "http", "status": 403},
        {"token": tokens[3], "reason": "busy", "status": 503, "retry_after": 30},
    ]
    ran = cli.on("fail", stdin=lines(*records))
    expected = [{"token": token, "state": state} for token, state in zip(tokens, ["delayed", "done", "dead", "delayed"], strict=True)]
    assert (0, expected) == (ran.status, ran.objects)


def test_done_with_an_error_status_acts_as_fail(cli: Cli) -> None:
    (token,) = cli.tokens(1)
    assert "dead" == cli.on("done", stdin=lines({"token": token, "status": 403})).objects[0]["state"]


def test_skip_is_done_and_counted_under_its_reason(cli: Cli) -> None:
    (token,) = cli.tokens(1)
    assert [{"token": token, "state": "done"}] == cli.on("skip", stdin=lines({"token": token, "reason": "robots"})).objects
    assert {"robots": 1} == cli.stats()["skipped"]


def test_release_gives_back_untouched(cli: Cli) -> None:
    (token,) = cli.tokens(1)
    assert [{"token": token, "state": "pending"}] == cli.on("release", stdin=lines({"token": token})).objects
    (lease,) = cli.pop(1)
    assert 1 == lease["attempt"]
    later = {"token": lease["token"], "not_before": time.time() + 1000}
    assert "delayed" == cli.on("release", stdin=lines(later)).objects[0]["state"]


def test_extend_moves_the_deadline(cli: Cli, pushed: Pushed) -> None:
    pushed(2)
    one, two = (lease["token"] for lease in cli.pop(2, "--lease", "0.7"))
    ran = cli.on("extend", stdin=lines({"token": one, "lease": 1000}, {"token": "none"}, {"token": two}))
    assert 5 == ran.status
    expected = [{"token": one, "state": "leased"}, {"token": "none", "error": "lease_lost"}, {"token": two, "state": "leased"}]
    assert expected == ran.objects
    time.sleep(0.8)
    assert [] == cli.pop(2)


@pytest.mark.parametrize("command", ["done", "fail", "skip", "extend", "release"])
def test_a_token_that_is_not_current_is_answered_and_makes_the_run_partial(cli: Cli, command: str) -> None:
    (good,) = cli.tokens(1)
    odd = ["", "x", "1-1-1-00", "\udcff", "\ud800", "a\0b", "9" * 10_000]
    more = {"reason": "r"} if command in ("fail", "skip") else {}
    ran = cli.on(command, stdin=lines(*({"token": token, **more} for token in [*odd[1:], good, good if command != "extend" else "y"])))
    assert 5 == ran.status, ran.err
    lost = [answer["token"] for answer in ran.objects if answer.get("error") == "lease_lost"]
    assert [*odd[1:], good if command != "extend" else "y"] == lost
    assert "state" in ran.objects[-2]


def test_an_expired_lease_that_others_took_is_lost(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    (old,) = cli.pop(1, "--lease", "0.2")
    time.sleep(0.3)
    (new,) = cli.pop(1)
    assert 2 == new["attempt"]
    assert 5 == cli.on("done", stdin=lines({"token": old["token"]})).status
    assert 0 == cli.on("done", stdin=lines({"token": new["token"]})).status


MALFORMED = {
    "not JSON": "{",
    "a number": "7",
    "a list": '["token"]',
    "no token": '{"status": 200}',
    "a token of the wrong type": '{"token": 7}',
    "a status of the wrong type": '{"token": "t", "status": "200"}',
    "a status out of range": '{"token": "t", "status": -1}',
    "true for a number": '{"token": "t", "elapsed": true}',
    "half a byte": '{"token": "t", "size": 1.5}',
    "fewer bytes than none": '{"token": "t", "size": -1}',
    "NaN": '{"token": "t", "elapsed": NaN}',
    "an endless number": '{"token": "t", "elapsed": 1e999}',
    "links of the wrong type": '{"token": "t", "links": "http://x/"}',
    "a link of the wrong type": '{"token": "t", "links": [1]}',
    "an unknown field": '{"token": "t", "stauts": 200}',
    "another command's field": '{"token": "t", "retry_after": 5}',
    "deep nesting": '{"token": "t", "links": ' + "[" * 100_000,
    "a pickle": "gASVKAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjA10b3VjaCBjYW5hcnmUhZRSlC4=",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_line_names_file_and_line_and_what_stood_before_is_settled(cli: Cli, what: str) -> None:
    tokens = cli.tokens(3)
    text = lines({"token": tokens[0]}) + "\n" + lines({"token": tokens[1]}) + MALFORMED[what] + "\n" + lines({"token": tokens[2]})
    (cli.directory / "outcomes.jsonl").write_text(text)
    ran = cli.on("done", "outcomes.jsonl")
    assert 2 == ran.status
    assert "outcomes.jsonl, line 4: " in ran.error
    assert tokens[:2] == [answer["token"] for answer in ran.objects]
    assert (2, 1) == ((stats := cli.stats())["done"], stats["leased"])


def test_a_misspelt_field_is_refused_with_the_nearest_name(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    assert "did you mean 'final_url'?" in cli.on("done", stdin=lines({"token": "t", "finalurl": "http://x/"})).error


@pytest.mark.parametrize("command", ["fail", "skip"])
def test_a_reason_is_required(cli: Cli, pushed: Pushed, command: str) -> None:
    pushed(1)
    for record in ({"token": "t"}, {"token": "t", "reason": ""}, {"token": "t", "reason": None}):
        ran = cli.on(command, stdin=lines(record))
        assert 2 == ran.status
        assert "'reason' is missing" in ran.error


def test_a_lease_of_no_time_is_refused_by_extend(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    for lease in (0, -1):
        assert "above 0" in cli.on("extend", stdin=lines({"token": "t", "lease": lease})).error


@pytest.mark.parametrize("command", ["done", "fail", "skip", "extend", "release"])
def test_binary_garbage_instead_of_json_lines_is_a_usage_error(cli: Cli, pushed: Pushed, command: str) -> None:
    pushed(1)
    ran = cli.on(command, stdin=bytes(range(256)) * 100)
    assert (2, b"") == (ran.status, ran.out)
    assert "line 1" in ran.error


def test_sec_01_a_pickle_in_a_field_is_text_and_runs_nothing(cli: Cli) -> None:
    (token,) = cli.tokens(1)
    (cli.directory / "canary").unlink(missing_ok=True)
    pickle = "cposix\nsystem\n(S'touch canary'\ntR."
    ran = cli.on("done", stdin=lines({"token": token, "title": pickle, "body": pickle, "signature": pickle}))
    assert (0, "done") == (ran.status, ran.objects[0]["state"])
    cli.on("push", "--meta", json.dumps(pickle), "--via", pickle, stdin="http://example.com/m")
    assert pickle == cli.pop(1)[0]["meta"]
    assert not (cli.directory / "canary").exists()


def test_a_worker_in_another_language_keeps_done_open_and_reads_each_answer(cli: Cli, pushed: Pushed) -> None:
    pushed(3)
    process = cli.start("done", "--store", cli.store)
    assert process.stdin is not None
    assert process.stdout is not None
    for lease in cli.pop(3):
        process.stdin.write(lines({"token": lease["token"]}).encode())
        process.stdin.flush()
        assert (lease["token"], "done") == ((answer := json.loads(process.stdout.readline()))["token"], answer["state"])
    assert (b"", b"") == process.communicate(timeout=60)


def test_two_workers_on_one_store_share_its_urls_and_none_comes_out_twice(cli: Cli) -> None:
    cli.on("push", stdin="".join(f"http://site{i % 50}.example/{i}\n" for i in range(600)))
    taken: list[str] = []

    def work() -> None:
        while leases := cli.pop(60):
            taken.extend(lease["url"] for lease in leases)
            cli.on("done", stdin=lines(*({"token": lease["token"]} for lease in leases)))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 600 == len(taken) == len(set(taken))
    assert 600 == cli.stats()["done"]
    assert 0 == cli.on("verify", "--deep").status


def test_an_error_in_a_json_command_is_json_when_asked(cli: Cli) -> None:
    ran = cli("pop", "--json", "--store", cli.store)
    assert (3, "store_unavailable") == (ran.status, ran.report["error"])


def test_push_killed_in_the_middle_and_run_again_loses_nothing(cli: Cli) -> None:
    urls = "".join(f"http://site{i % 100}.example/{i}\n" for i in range(60_000))
    (cli.directory / "urls").write_text(urls)
    process = cli.start("push", "--store", cli.store, "--batch", "500", "urls", stdin=subprocess.DEVNULL)
    database = Path(cli.store)
    while not (database / "ledger.db").exists():
        time.sleep(0.01)
    while cli.stats()["accepted"] < 2_000:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    after = cli.stats()["accepted"]
    assert 0 < after
    assert 0 == cli.on("verify", "--deep").status
    second = cli.on("push", "--json", "urls").report
    assert (60_000, after) == (second["new"] + second["seen"], second["seen"])
    assert 60_000 == cli.stats()["accepted"]
