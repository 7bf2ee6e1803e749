"""A power cut at any moment of any protocol leaves a store with all that it had acknowledged. The long form is `./dev crash`."""

import pytest

from power import checking, workloads
from power.recording import Recorder, make_small

pytestmark = pytest.mark.crash
#: Different states per protocol and model.
STATES = 40


@pytest.fixture(scope="module")
def recorder():
    recorder = Recorder()
    yield recorder
    recorder.close()


@pytest.fixture(autouse=True)
def as_they_are_elsewhere():
    """The lengths of things."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch.setattr)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", workloads.ALL)
def test_nothing_that_was_acknowledged_is_lost_when_the_power_goes(recorder, name):
    for report in checking.cut(recorder, name, STATES):
        assert report.states > STATES // 3
        assert [] == report.problems, report.line()


def without(recording, leave_out):
    """The same log, had some of its syncs never been made."""
    recording.records = [one if not leave_out(one, before) else one._replace(kind="-") for one, before in with_names(recording.records)]
    return recording


def with_names(records):
    """(record, path of its descriptor)."""
    open_now = {}
    for one in records:
        if one.kind == "O":
            open_now[one.fd] = one.first.decode()
        yield one, open_now.get(one.fd, "")


LEFT_OUT = {
    "of the write-ahead log": ("push", "ordered", lambda one, path: path.endswith("-wal")),
    "of runs": ("flush", "ordered", lambda one, path: path.endswith(".run")),
    "of folders": ("merge", "loose", lambda one, path: not path.rpartition("/")[2].count(".")),
    "of a new ledger": ("restore", "ordered", lambda one, path: path.endswith("ledger.db")),
    "of the folder of a new ledger": ("create", "loose", lambda one, path: path.endswith("/store")),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_a_sync_that_is_left_out_is_noticed(recorder, what):
    """This test's own test: else a disk that forgets nothing would pass as well."""
    name, model, leave_out = LEFT_OUT[what]
    with checking.place() as where:
        recording = without(checking.record(recorder, name, where), lambda one, path: one.kind == "S" and leave_out(one, path))
        for seed in range(10):
            _, found = checking.some(recording, model, 60, seed)
            if any(found.values()):
                return
        raise AssertionError(f"a store that forgets the sync {what} passes")


def test_the_log_has_every_change_of_every_file(recorder):
    with checking.place() as where:
        recording = checking.record(recorder, "merge", where)
        assert [] == checking.everything_was_recorded(recording)
        recording.records = [one for one in recording.records if one.kind != "W" or b"SQLite" in one.first]
        assert "store/ledger.db" in checking.everything_was_recorded(recording)


def test_a_store_opened_for_normal_durability_may_lose_its_newest_and_a_full_one_may_not(recorder):
    """The same log, held against the other promise."""
    with checking.place() as where:
        recording = checking.record(recorder, "push, normal", where)
        _, found = checking.some(recording, "ordered", 60, 0)
        assert {None} == set(found.values())
        recording.worlds = [(at, text, True) for at, text, _ in recording.worlds]
        _, found = checking.some(recording, "ordered", 60, 0)
        assert any(found.values())
