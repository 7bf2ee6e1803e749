"""What is told with `done` becomes proposals, and a person's word makes them rules; on every store."""

import random
import threading

import pytest

from sieve_lab import drain, pages
from urlsieve import Outcome, Rules
from urlsieve.stores.protocol import Witnessed


@pytest.fixture
def store(sieve):
    return sieve._store


def text_of(store):
    return b"".join(part.text for part in store.evidence())


def told(store, *lines, site="a.example"):
    store.settle([], (), 0.0, witnessed=[Witnessed(site, line) for line in lines])


# -- the log


def test_lines_are_kept_in_order_and_of_every_site(store):
    told(store, b"1\n", b"2\n")
    told(store, b"3\n")
    told(store, b"4\n", site="b.example")
    assert {b"1\n2\n3\n4\n"} == {b"".join(sorted(text_of(store).splitlines(keepends=True)))}
    assert b"1\n2\n3\n" in text_of(store)


def test_lines_are_told_with_a_settle_and_are_there_whatever_becomes_of_it(sieve, store, clock):
    sieve.push(pages(2))
    one, other = sieve.pop(2)
    assert "done" == sieve.done(one, signature="s").state
    assert ["lost"] == [settled.state for settled in sieve.done([one.token], signature="s")]
    assert 1 == text_of(store).count(b"\n")
    sieve.done(other.token, signature=b"s")  # a token alone: what was fetched is looked up
    assert [b"p", b"p"] == [line.split(b"\t")[0] for line in text_of(store).splitlines()]
    assert 1 == len({line.split(b"\t")[1] for line in text_of(store).splitlines()}), "text and bytes of one signature are equal"


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("done"),
        Outcome("done", signature=""),
        Outcome("done", status=404, signature="s"),
        Outcome("done", status=500, signature="s"),
        Outcome("done", status=304, signature="s"),
        Outcome("done", status=403, signature="s", final_url="http://a.example/login"),
        Outcome("skip", reason="robots", signature="s"),
        Outcome("fail", reason="timeout", signature="s"),
        Outcome("done", final_url="http://a.example/p0"),
        Outcome("done", final_url="http://["),
    ],
)
def test_what_is_no_page_or_tells_nothing_is_not_kept(sieve, store, outcome):
    sieve.push(pages(1))
    sieve.settle([(sieve.pop(1)[0], outcome)])
    assert b"" == text_of(store)


def test_a_url_that_could_name_a_password_or_break_a_line_is_not_kept_as_it_is(sieve, store):
    sieve.push(["http://user:secret@a.example/", "http://a.example/\u00e9 b", b"http://a.example/\xff"])
    for lease in sieve.pop(3):
        sieve.done(lease, signature="s", final_url="http://user:secret@a.example/x")
    assert b"secret" not in text_of(store)
    assert [b"http://a.example/%C3%A9%20b", b"http://a.example/%FF"] == sorted(line.split(b"\t")[2] for line in text_of(store).splitlines())


def test_a_fold_replaces_what_was_seen_and_keeps_what_came_after(store):
    told(store, b"1\n", b"2\n")
    (seen,) = store.evidence()
    told(store, b"3\n")
    assert store.fold_evidence(seen, b"2\n")
    assert b"2\n3\n" == text_of(store)
    assert not store.fold_evidence(seen, b"x\n"), "one fold of what was seen, not two"
    assert b"2\n3\n" == text_of(store)
    (seen,) = store.evidence()
    assert store.fold_evidence(seen, b"")
    told(store, b"4\n")
    assert b"4\n" == text_of(store)


def test_a_full_part_lets_its_older_half_go_and_no_line_is_cut(store):
    (first,) = [told(store, b"0\n"), *store.evidence()][1:]
    line = b"%07d " + b"x" * 991 + b"\n"
    many = 2 * first.most // 1000
    for start in range(0, many, 500):
        told(store, *(line % number for number in range(start, min(many, start + 500))))
    text = text_of(store)
    assert first.most // 3 < len(text) <= first.most
    assert {1000} == {len(one) for one in text.splitlines(keepends=True)}
    assert line % (many - 1) == text[-1000:]
    assert not store.fold_evidence(first, b"")
    assert [] == list(store.evidence(0.999)) or len(text) > 0.99 * first.most


def test_evidence_survives_reopening(shared):
    told(shared.open()._store, b"1\n")
    assert b"1\n" == text_of(shared.reopen()._store)


def test_a_store_with_too_much_is_folded_and_pairs_stay_pairs(sieve, store, monkeypatch):
    from urlsieve import witnessing

    large = 1 if store.address.startswith("redis") else 0.05  # a part of it is small
    monkeypatch.setattr(witnessing, "FULL", 0.2 * large)
    monkeypatch.setattr(witnessing, "FOLDED", 0.1 * large)
    many = 1500
    urls = [f"http://{host}a.example/{'x' * 30}/{number}" for host in ("", "www.") for number in range(many)]
    sieve.push(urls)
    while leases := sieve.pop(1000):
        sieve.settle([(lease, Outcome("done", signature=lease.url.rpartition("/")[2])) for lease in leases])
    sieve._opened.witness.tend(sieve.canonicalizer)
    lines = text_of(store).splitlines()
    assert 20 < len(lines) < many
    (rule,) = sieve.proposals().rules
    assert ("a.example", 0) == (rule.match, rule.points[0].against)
    before = len(lines)
    sieve.push([f"http://a.example/y/{number}" for number in range(1000)])
    while leases := sieve.pop(1000):
        sieve.settle([(lease, Outcome("done", signature="s" + lease.url)) for lease in leases])
    assert len(text_of(store).splitlines()) < before + 900, "of pages that are not kept no line is written"


# -- the whole way


def site(rng, *, pages=60):
    """A site whose pages have many addresses: URL → content. And traps: addresses that look like those and are other pages."""
    content = {}
    for number in range(pages):
        for host in ("www.dup.example", "dup.example", "m.dup.example"):
            for scheme in ("http", "https"):
                for path in (f"/page-{number}", f"/page-{number}/", f"/Page-{number}"):
                    if rng.random() < 0.5:
                        content[f"{scheme}://{host}{path}"] = f"page {number}"
        for sid in rng.sample(range(10_000), 2):
            content[f"http://www.dup.example/page-{number}?sid={sid}"] = f"page {number}"
    for number in range(60):
        content[f"http://trap.example/a{number}"] = content[f"http://trap.example/a{number}?page=1"] = f"article {number}"
        content[f"http://trap.example/list?page={number}"] = f"list {number}"
        for scheme in ("http", "https"):  # nothing is there, and it says so with 200
            content[f"{scheme}://soft.example/item?id={number}&x=1"] = "not found"
            content[f"{scheme}://www.soft.example/item?id={number}"] = "not found"
        content[f"http://case.example/{chr(97 + number % 26)}{number}"] = f"low {number}"
        content[f"http://case.example/{chr(65 + number % 26)}{number}"] = f"low {number}" if number else "another"
    return content


def crawl(sieve, clock, content, *, batch=50):
    while True:
        leases = sieve.pop(batch)
        if not leases:
            if leases.next_at is None:
                return
            clock.advance(leases.next_at - clock.now)
            continue
        sieve.settle([(lease, Outcome("done", signature=content[lease.url])) for lease in leases])


def test_a_site_of_duplicates_gives_the_right_proposals_and_traps_give_none(sieve, clock):
    rng = random.Random(7)
    content = site(rng)
    urls = list(content)
    rng.shuffle(urls)
    sieve.push(urls)
    crawl(sieve, clock, content)
    found = sieve.proposals()
    assert ["dup.example"] == [rule.match for rule in found.rules]
    (rule,) = found.rules
    assert {("dup.example",), ("m.dup.example",), ("www.dup.example",)} == {(host,) for pair in rule.hosts for host in pair}
    assert {"hosts", "https", "path_case", "trailing_slash", "drop"} == {point.key for point in rule.points}
    assert ["sid"] == [point.name for point in rule.points if point.key == "drop"]
    assert all(not point.ready or point.key == "hosts" for point in found.others)
    before = [*map(sieve.canonicalizer.canonicalize, urls)]
    sieve.apply_rules(Rules.parse(sieve.proposed_rules(), thorough=True))
    assert before == [*map(sieve.canonicalizer.canonicalize, urls)], "nothing merges before somebody has looked"
    sieve.confirm_rule("dup.example", by="Ann", evidence="looked at ten")
    assert "https://www.dup.example/page-3" == sieve.canonicalizer.canonicalize("http://m.dup.example/Page-3")
    assert {"seen"} == set(sieve.push(urls).verdicts), "what is merged later was seen already"


def test_two_workers_at_once_lose_no_line(shared, clock):
    workers = [shared.open(), shared.open()]
    content = {f"http://{host}a.example/{number}": str(number) for number in range(300) for host in ("", "www.")}
    workers[0].push(list(content))

    def work(worker):
        while leases := worker.pop(20):
            worker.settle([(lease, Outcome("done", signature=content[lease.url])) for lease in leases])

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drain(workers[0], clock, lambda sieve, lease: sieve.done(lease, signature=content[lease.url]))
    ((point,),) = [rule.points for rule in workers[0].proposals().rules]
    assert (300, 0) == (point.clean, point.against)


def test_redirects_alone_make_a_proposal(sieve, clock):
    sieve.push([f"http://a.example/{number}" for number in range(20)])
    drain(sieve, clock, lambda sieve, lease: sieve.done(lease, final_url=lease.url.replace("http:", "https:"), redirects=[lease.url]))
    assert [("=a.example", ["https"])] == [(rule.match, [point.key for point in rule.points]) for rule in sieve.proposals().rules]
