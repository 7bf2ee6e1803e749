"""The k-th operation fails, whichever it is; a file is damaged: an error of ours, and nothing acknowledged is lost. Long: `./dev crash`."""

import pytest

from power import damage, faults, workloads
from power.recording import make_small

pytestmark = pytest.mark.crash
#: Operations of each protocol, and damages of each kind to each file.
FAILURES, DAMAGES = 3, 12


@pytest.fixture(autouse=True)
def as_they_are_elsewhere():
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch.setattr)
        yield


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), list(enumerate(workloads.ALL)))
def test_whichever_operation_fails_nothing_acknowledged_is_lost(number, name):
    """One kind of failure for each protocol here; every kind in the long form."""
    report = faults.fail(name, faults.HOW[number % len(faults.HOW)], FAILURES, workers=1)
    assert FAILURES == report.tried
    assert [] == report.problems


@pytest.mark.slow
def test_a_bit_that_turns_or_a_file_that_is_cut_makes_no_lie_of_what_has_checksums():
    reports = damage.look(DAMAGES)
    assert {"ledger.db", ".run", ".level"} == {report.file for report in reports}
    for report in reports:
        if report.file != "ledger.db":
            assert [] == report.lies
            assert 0 == report.untrue_seen
            assert report.tried == report.refused + report.verified
        elif report.how == "cut":
            assert report.tried == report.refused
