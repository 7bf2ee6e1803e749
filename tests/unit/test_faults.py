"""Each known fault has a test that names it, or waits on an explicit list for the part that it belongs to."""

from faults_index import AGAIN, ELSEWHERE, HERE, LATER, every_id, named_ids


def test_every_fault_has_a_test_or_waits_for_its_part():
    waiting = {name for names in LATER.values() for name in names}
    assert [] == [name for name in every_id() if name not in named_ids() | waiting | set(ELSEWHERE)]


def test_a_fault_that_has_a_test_no_longer_waits():
    waiting = {name for names in LATER.values() for name in names}
    assert set() == waiting & (named_ids() | set(ELSEWHERE))


def test_the_lists_name_faults_that_exist_and_each_waits_once():
    waiting = [name for names in LATER.values() for name in names]
    assert len(set(waiting)) == len(waiting)
    assert set() == {*waiting, *ELSEWHERE, *(name for names in AGAIN.values() for name in names)} - set(every_id())


def test_no_test_names_a_fault_that_does_not_exist():
    assert set() == named_ids() - set(every_id())


def test_what_is_tested_under_another_name_is_there():
    for path, name in ELSEWHERE.values():
        assert f"def {name}(" in (HERE / path).read_text(encoding="utf-8")
