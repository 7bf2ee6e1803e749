"""A rekey that is interrupted goes on: nothing is done twice, nothing is lost, and what no longer fits is begun anew and says so."""

import random
import shutil
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, pages
from urlsieve import Outcome, StoreUnavailable, URLItem, opening
from urlsieve.stores.embedded import filling, merging, queueing, rekeying

pytestmark = pytest.mark.crash
WWW = "safe+strip_www"


def known_of_texts(sieve):
    """What a store knows of each text, but for what hangs on the header."""
    return sorted(repr(entry._replace(fingerprint=b"", group_id=0, site="")) for entry in sieve.entries() if entry.url is not None)


def without_text(sieve):
    return sum(entry.url is None for entry in sieve.entries())


def pushed(out):
    return sorted({line.split()[1] for line in out.read_text().splitlines() if line.startswith("pushed ")})


@pytest.fixture
def store(fast_path, monkeypatch):
    """Rows, blocks, bare ones, an imported level, in small steps."""
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)
    for module, name in ((rekeying, "STEP"), (filling, "STEP"), (queueing, "PART")):
        monkeypatch.setattr(module, name, 20)
    place = fast_path / "store"
    with urlsieve.open(place, delay=0.0) as sieve:
        sieve.push([f"http://{('', 'www.')[i % 2]}h{i // 2 % 5}.example/{i // 2}" for i in range(200)])
        sieve.push(URLItem("http://post.example/f", variant=b"POST"), meta={"a": 1}, via="http://hub.example/", depth=3)
        sieve.mark(pages(30, host="known.example"), known=True)
        leases = sieve.pop(80, lease=1e5)
        sieve.done(leases[:50])
        sieve.fail(leases[50:55], "gone away", status=403)
        sieve._store._packing.pack()
        sieve.import_fingerprints("md5", [bytes([i]) * 16 for i in range(60)])
    return place


def interrupted(store, texts=100, **target):
    """One attempt, ended from outside when so many texts are through."""

    def progress(done):
        if done >= texts:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opening.rekey(store, progress=progress, **target)
    assert (store / "rekey").is_dir()


@pytest.mark.parametrize("target", [{"secret": "new"}, {"secret": 7}, {"profile": WWW}, {"profile": WWW, "secret": "new"}])
def test_the_same_again_goes_on(store, target):
    interrupted(store, **target)
    with urlsieve.open(store) as sieve:
        before, bare = known_of_texts(sieve), without_text(sieve)
    said = []
    report = opening.rekey(store, progress=said.append, **target)
    assert 100 <= report.kept < 201
    assert ("", report.kept) == (report.anew, said[0])
    assert (bare, "own-1") == (report.imported, report.level)
    assert not (store / "rekey").exists()
    with urlsieve.open(store) as sieve:
        if "profile" not in target:
            assert before == known_of_texts(sieve)
        assert {"md5": 60, "own-1": bare} == sieve.stats().levels["imported"]
        assert [True] * 30 == sieve.seen(pages(30, host="known.example"))
        check_conservation(sieve)


def changed_rules(store, backup):
    with urlsieve.open(store) as sieve:
        sieve.apply_rules(urlsieve.Rules.parse('[[site]]\nmatch = "h1.example"\ndrop = ["sid"]\n'))


def another_level(store, backup):
    with urlsieve.open(store) as sieve:
        sieve.import_fingerprints("sha1", [bytes(20)], name="other")


def restored(store, backup):
    opening.restore(backup, store, force=True)


def lost_a_file(store, backup):
    next((store / "rekey" / "then" / "runs").glob("*.run")).unlink()


def cut_off(store, backup):
    with open(store / "rekey" / "ledger.db", "r+b") as file:
        file.truncate(5000)
    for end in ("-wal", "-shm"):
        (store / "rekey" / f"ledger.db{end}").unlink(missing_ok=True)


def never_begun(store, backup):
    shutil.rmtree(store / "rekey")
    (store / "rekey").mkdir()


def nothing(store, backup):
    pass


@pytest.mark.parametrize(
    ("change", "target", "why"),
    [
        (nothing, {"profile": WWW}, "another profile, secret"),
        (nothing, {"secret": 8}, "another profile, secret"),
        (changed_rules, {"secret": 7}, "rules or imported levels have changed"),
        (another_level, {"secret": 7}, "rules or imported levels have changed"),
        (restored, {"secret": 7}, "has been replaced"),
        (lost_a_file, {"secret": 7}, "files of it are missing"),
        (cut_off, {"secret": 7}, "cannot be read"),
        (never_begun, {"secret": 7}, "cannot be read"),
    ],
)
def test_what_does_not_fit_any_more_is_begun_anew_and_says_so(fast_path, store, change, target, why):
    interrupted(store, secret=7)
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")  # of the store only: what lies beside it was made for the other
    change(store, fast_path / "copy")
    with urlsieve.open(store) as sieve:
        before, bare = known_of_texts(sieve), without_text(sieve)
    report = opening.rekey(store, **target)
    assert (0, True) == (report.kept, why in report.anew), report
    assert bare == report.imported
    with urlsieve.open(store) as sieve:
        assert ("profile" in target) or before == known_of_texts(sieve)
        check_conservation(sieve)


def test_a_drawn_secret_is_not_taken_for_one_that_was_given(store):
    interrupted(store, secret=7)
    report = opening.rekey(store, secret="new")
    assert (0, True) == (report.kept, "another profile, secret" in report.anew)
    with urlsieve.open(store) as sieve:
        assert 7 != sieve._store.header.secret


def test_rules_that_change_in_the_middle_end_it_and_leave_nothing(store):
    def progress(done):
        if done >= 100:
            changed_rules(store, None)

    with pytest.raises(StoreUnavailable, match="rules or imported levels"):
        opening.rekey(store, secret="new", progress=progress)
    assert not (store / "rekey").exists()


def live(sieve, rng, number):
    """Everything that can happen to entries."""
    sieve.push([f"http://{rng.choice(('', 'www.'))}h{rng.randrange(5)}.example/{number}/{i}" for i in range(rng.randrange(30))])
    leases = sieve.pop(rng.randrange(1, 20), lease=1e5)
    words = ("done", "done", "fail", "release", "skip")
    sieve.settle([(lease, Outcome(rng.choice(words), reason="x")) for lease in leases[: rng.randrange(20)]])
    urls = [entry.url for entry in sieve.entries() if entry.url is not None]
    sieve.forget(rng.sample(urls, 3))
    sieve.revisit(rng.sample(urls, 3))
    sieve.forget(pages(2, host="known.example", start=number % 30))
    sieve.mark(pages(3, host="marked.example", start=number), known=True)
    sieve.import_fingerprints("md5", [rng.randbytes(16)])
    what = rng.randrange(6)
    if what == 0:
        sieve._store._packing.pack()
    elif what == 1:
        sieve._store._merging.merge(everything=True)
    elif what == 2:
        sieve._store.set_policy(keep_urls=rng.random() < 0.7)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["safe", WWW])
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_step_and_the_store_changed_in_between_it_ends_as_if_never_interrupted(fast_path, store, zygote, profile, seed):
    rng = random.Random(seed)
    for number in range(25):
        zygote.kill_itself("rekey_and_die", str(store), profile, rng.randrange(1, 60 + 12 * number))
        with urlsieve.open(store) as sieve:
            live(sieve, rng, number)
            check_conservation(sieve)
    with urlsieve.open(store) as sieve:
        before, bare, counts = known_of_texts(sieve), without_text(sieve), sieve.stats()
        every = [entry.url for entry in sieve.entries() if entry.url is not None and not entry.variant]
    report = opening.rekey(store, profile=None if profile == "safe" else profile, secret="new")
    assert bare == report.imported
    with urlsieve.open(store) as sieve:
        check_conservation(sieve)
        assert [True] * len(every) == sieve.seen(every)
        if profile == "safe":
            after = sieve.stats()
            assert before == known_of_texts(sieve)
            assert (counts.accepted - (bare - counts.known), counts.leased) == (after.accepted, after.leased)
        else:
            assert len(before) == report.entries + report.merged


@pytest.mark.slow
def test_attempts_that_get_a_part_of_the_time_each_come_to_an_end(fast_path, zygote):
    store, out = fast_path / "store", fast_path / "out"
    old = [f"http://{'www.' if i % 3 else ''}h{i // 3 % 997}.example/old/{i // 3}" for i in range(60_000)]
    with urlsieve.open(store, durability="normal") as sieve:
        sieve.push(old)
        for _ in range(3):
            sieve.settle([(lease, Outcome("done")) for lease in sieve.pop(10_000)])
        sieve._store._packing.pack()
        sieve.mark(pages(500, host="known.example"), known=True)
    end = time.time() + 300
    worker = zygote.start("live_through_rekeys", str(store), 1, end, str(out))
    attempts, status = 0, -9
    while status == -9 and attempts < 40:
        status = zygote.wait(zygote.start("rekey_step_by_step", str(store), WWW, 12_000), timeout=120)
        attempts += 1
    assert 0 == status
    assert attempts >= 4, "no attempt could do it alone"
    zygote.kill(worker)
    with urlsieve.open(store) as sieve:
        assert WWW == sieve._store.header.profile
        check_conservation(sieve)
        every = [*pushed(out), *old, *pages(500, host="known.example")]
        assert [url for url, seen in zip(every, sieve.seen(every), strict=True) if not seen] == []
        assert 0 == sieve.push(every).new
