"""urlsieve.aio: the same verbs, awaitable; nothing is lost when the awaiting task is."""

import asyncio
import gc
import threading
import time

import pytest

import urlsieve
import urlsieve.aio

URLS = [f"http://example.com/{i}" for i in range(5)]


def run(test):
    """Runs an async test function on a fresh sieve."""

    async def main():
        async with await urlsieve.aio.open("memory:") as sieve:
            await test(sieve)

    asyncio.run(main())


def slowly(sieve, name):
    """Lets the next call of a verb begin, and go on only when told: (begun, go on)."""
    begun, go_on = threading.Event(), threading.Event()
    real = getattr(sieve._sieve, name)

    def verb(*args, **kwargs):
        begun.set()
        assert go_on.wait(30)
        return real(*args, **kwargs)

    class Slowed:
        def __getattr__(self, attribute):
            return verb if attribute == name else getattr(real_sieve, attribute)

    real_sieve = sieve._sieve
    sieve._sieve = Slowed()
    return begun, go_on


async def happens(event):
    while not event.is_set():
        await asyncio.sleep(0.001)


def test_a_url_goes_in_comes_out_once_and_its_outcome_comes_back():
    async def test(sieve):
        report = await sieve.push([*URLS, URLS[0]])
        assert (5, 1) == (report.new, report.seen)
        leases = await sieve.pop(10)
        assert URLS == [lease.url for lease in leases]
        assert "done" == (await sieve.done(leases[0], links=["/new"])).state
        assert "done" == (await sieve.skip(leases[1], "type")).state
        assert "dead" == (await sieve.fail(leases[2], "no", status=403)).state
        assert "pending" == (await sieve.release(leases[3])).state
        assert await sieve.extend(leases[4], 10)
        assert ["done"] == [settled.state for settled in await sieve.settle([(leases[4], urlsieve.Outcome())])]
        stats = await sieve.stats()
        assert (2, 3, 1) == (stats.pending, stats.done, stats.dead)
        assert [] == await sieve.verify(deep=True)

    run(test)


def test_questions_and_operation_are_awaitable_too():
    async def test(sieve):
        await sieve.push(URLS)
        assert [True, False] == await sieve.seen([URLS[0], "http://example.com/other"])
        assert "pending" == (await sieve.info(URLS[0])).state
        assert ["example.com"] == [site.name for site in await sieve.sites()]
        assert ["example.com"] == [group.name for group in await sieve.groups()]
        assert (await sieve.why(URLS[0])).reasons
        assert 1 == await sieve.forget([URLS[0]])
        assert 4 == await sieve.purge("example.com")
        assert 1 == (await sieve.mark(["http://example.com/done"])).new
        assert 1 == (await sieve.revisit(["http://example.com/done"], time.time() + 60)).requeued
        await sieve.set_policy(factor=2.0)
        assert 2.0 == (await sieve.policy()).factor
        assert {"error"}.isdisjoint(finding.level for finding in await sieve.doctor())

    run(test)


def test_a_group_and_a_site_are_operated_through_their_handles():
    async def test(sieve):
        await sieve.push(URLS)
        group = sieve.group("example.com")
        await group.set(delay=3.0, concurrency=2)
        assert (3.0, 2) == (await group.get("delay"), await group.get("concurrency"))
        await group.pause()
        assert [] == await sieve.pop()
        await group.resume()
        await group.block(time.time() + 60)
        assert [] == await sieve.pop()
        await group.unblock()
        assert 1 == len(await sieve.pop())
        site = sieve.site("example.com")
        assert None is await site.blob("robots")
        await site.blob("robots", b"text")
        assert b"text" == await site.blob("robots")
        await site.set(limit=5)
        assert ["rejected:limit"] == (await sieve.push(["http://example.com/sixth"])).verdicts

    run(test)


def test_leases_popped_for_a_cancelled_task_are_given_back():
    async def test(sieve):
        await sieve.push(URLS)
        begun, go_on = slowly(sieve, "pop")
        task = asyncio.create_task(sieve.pop(5))
        await happens(begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        stats = await sieve.stats()
        assert (5, 0) == (stats.pending, stats.leased)
        assert 1 == (await sieve.pop())[0].attempt

    run(test)


def test_a_pop_that_had_not_begun_when_it_was_cancelled_takes_nothing():
    async def test(sieve):
        await sieve.push(URLS)
        begun, go_on = slowly(sieve, "stats")
        first = asyncio.create_task(sieve.stats())
        await happens(begun)
        waiting = asyncio.create_task(sieve.pop(5))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go_on.set()
        assert 5 == (await first).pending
        assert "pending" == (await sieve.info(URLS[0])).state

    run(test)


def test_a_failure_after_the_cancellation_makes_no_noise():
    async def test(sieve):
        complaints = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        begun, go_on = slowly(sieve, "pop")
        task = asyncio.create_task(sieve.pop(-1))
        await happens(begun)
        task.cancel()
        await asyncio.wait([task])
        go_on.set()
        await sieve.stats()
        await asyncio.sleep(0.01)
        del task  # its frames hold the future that would complain when it goes
        gc.collect()
        assert [] == complaints

    run(test)


def test_a_push_that_has_begun_is_finished_though_its_task_is_cancelled():
    async def test(sieve):
        begun, go_on = slowly(sieve, "push")
        task = asyncio.create_task(sieve.push(URLS))
        await happens(begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert [True] * 5 == await sieve.seen(URLS)

    run(test)


def test_a_close_after_a_cancelled_pop_waits_until_the_leases_are_back(tmp_path):
    async def main():
        sieve = await urlsieve.aio.open(str(tmp_path / "s"))
        await sieve.push(URLS)
        begun, go_on = slowly(sieve, "pop")
        task = asyncio.create_task(sieve.pop(5))
        await happens(begun)
        task.cancel()
        await asyncio.wait([task])
        go_on.set()
        await sieve.close()

    asyncio.run(main())
    with urlsieve.open(tmp_path / "s") as sieve:
        assert (5, 0) == (sieve.stats().pending, sieve.stats().leased)


def test_the_event_loop_goes_on_while_the_store_works():
    async def test(sieve):
        begun, go_on = slowly(sieve, "push")
        task = asyncio.create_task(sieve.push(URLS))
        await happens(begun)
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        assert 5 == (await task).new

    run(test)


def test_wait_ends_when_something_is_pushed_and_holds_up_no_other_verb():
    async def test(sieve):
        assert not await sieve.wait(0.05)
        waiting = asyncio.create_task(sieve.wait(60))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await sieve.push(URLS)
        assert await waiting

    run(test)


def test_keepalive_holds_a_lease_over_its_deadline():
    async def test(sieve):
        await sieve.push(URLS[0])
        leases = await sieve.pop(lease=2.0)
        async with sieve.keepalive(leases, 2.0) as lost:
            await asyncio.sleep(2.3)
            assert [] == await sieve.pop()
        assert [] == lost
        assert "done" == (await sieve.done(leases[0])).state

    run(test)


def test_keepalive_names_the_leases_that_were_lost():
    async def test(sieve):
        await sieve.push(URLS[:2])
        leases = await sieve.pop(2, lease=60)
        await sieve.done(leases[0])
        async with sieve.keepalive(leases, 0.03) as lost:
            while not lost:
                await asyncio.sleep(0.01)
        assert [leases[0]] == lost
        with pytest.raises(urlsieve.LeaseLost):
            await sieve.done(leases[0])

    run(test)


def test_an_error_of_the_store_while_leases_are_kept_alive_is_raised():
    async def test(sieve):
        await sieve.push(URLS[0])
        leases = await sieve.pop(lease=0.03)
        real = sieve._sieve
        with pytest.raises(urlsieve.StoreUnavailable, match="gone"):
            async with sieve.keepalive(leases, 0.03):

                class Broken:
                    def extend(self, *_):
                        raise urlsieve.StoreUnavailable("gone")

                sieve._sieve = Broken()
                await asyncio.sleep(0.3)
        sieve._sieve = real

    run(test)


def test_a_store_that_is_missing_raises_and_leaves_no_thread(tmp_path):
    before = threading.active_count()

    async def main():
        with pytest.raises(urlsieve.StoreUnavailable):
            await urlsieve.aio.open(str(tmp_path / "missing"), create=False)

    asyncio.run(main())
    deadline = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_closed_sieve_says_so_and_closing_twice_is_fine():
    async def main():
        sieve = await urlsieve.aio.open("memory:")
        await sieve.close()
        await sieve.close()
        with pytest.raises(urlsieve.StoreUnavailable, match="closed"):
            await sieve.push(URLS)

    asyncio.run(main())


def test_every_verb_of_the_sieve_is_there():
    verbs = {name for name in vars(urlsieve.Sieve) if not name.startswith("_")}
    assert set() == verbs - set(vars(urlsieve.aio.AsyncSieve))


def test_a_store_moves_and_its_failed_urls_come_back_while_other_verbs_go_on():
    async def test(sieve):
        await sieve.push([f"http://e{i}.example/" for i in range(2_500)])
        (lease,) = await sieve.pop(1)
        await sieve.fail(lease, "no", status=403)
        assert [lease.url] == [one.url for one in await sieve.failed()]
        lines = []
        async for line in sieve.export():
            if not lines:
                await sieve.push("http://new.example/")
            lines.append(line.rstrip())
        async with urlsieve.aio.open("memory:") as other:
            report = await other.import_lines(lines)
            assert (report.incomplete, report.rejected) == (None, 0)
            assert 2_500 <= report.new == (await other.stats()).accepted <= 2_501
            assert {"dead"} == {entry.state.name.lower() async for entry in other.entries(["dead"])}
            again = [entry async for entry in sieve.entries()]
            assert 2_501 == (await sieve.admit(again)).seen
            assert 1 == await other.retry(reason="*")
            assert [] == await other.verify(deep=True)

    run(test)
