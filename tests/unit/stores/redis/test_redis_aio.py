"""urlsieve.aio over Redis: the awaitable verbs are the same, many at once over few connections."""

import asyncio

import pytest

import redis_server
import urlsieve.aio
from sieve_lab import hosts


@pytest.fixture
def address():
    yield redis_server.shared().address("aio", max_connections=4)
    redis_server.forget_all()


def test_many_tasks_share_one_store(address):
    async def main():
        async with await urlsieve.aio.open(address) as sieve:
            reports = await asyncio.gather(*(sieve.push(hosts(40)) for _ in range(20)))
            assert 40 == sum(report.new for report in reports)

            async def worker():
                found = []
                while leases := await sieve.pop(3):
                    found += [lease.url for lease in leases]
                    await sieve.done(leases)
                return found

            found = [url for part in await asyncio.gather(*(worker() for _ in range(8))) for url in part]
            assert sorted(hosts(40)) == sorted(found)
            assert 40 == (await sieve.stats()).done
            assert [] == await sieve.verify(deep=True)

    asyncio.run(main())


def test_a_waiting_task_is_woken_by_a_push_of_another(address):
    async def main():
        async with await urlsieve.aio.open(address) as sieve, await urlsieve.aio.open(address) as other:
            waiting = asyncio.create_task(sieve.wait(20))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            await other.push("http://a.example/")
            assert await waiting is True

    asyncio.run(main())
