"""What the tests' child processes do, and the server that forks them: JSON lines on stdin, answers on stdout."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import urlsieve
import urlsieve.sieve
from urlsieve import opening
from urlsieve.stores.embedded import disk, filling, halfway, merging, packing, queueing, rekeying, sweep, upgrading


def append(path: str, text: str) -> None:
    """One write, so that a kill leaves whole lines."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, text.encode())
    os.close(handle)


def until(moment: float) -> None:
    while (left := moment - time.time()) > 0:
        time.sleep(min(left, 0.01))


def race_url(number: int) -> str:
    return f"http://h{number % 997}.example/page/{number}"


def create(address: str) -> None:
    urlsieve.open(address).close()


def push_then(address: str, urls: list[str], how: str) -> None:
    """Push, then leave properly (stop) or not (kill)."""
    sieve = urlsieve.open(address)
    sieve.push(urls)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sieve.close()


def pop_then_die(address: str, count: int, ttl: float, out: str) -> None:
    """Take leases, say which, and be killed with them."""
    sieve = urlsieve.open(address)
    append(out, json.dumps([lease.url for lease in sieve.pop(count, lease=ttl)]) + "\n")
    os.kill(os.getpid(), signal.SIGKILL)


def race_push(address: str, count: int, batch: int, moment: float, out: str) -> None:
    """All racers push the same URLs, each in an order of its own: in one order the first would win each batch, however fair the turns."""
    sieve = urlsieve.open(address)
    every = [race_url(number) for number in range(count)]
    random.Random(os.getpid()).shuffle(every)
    until(moment)
    new, begun = 0, time.perf_counter()
    for start in range(0, count, batch):
        new += sieve.push(every[start : start + batch]).new
    append(out, json.dumps({"new": new, "seconds": time.perf_counter() - begun}) + "\n")
    sieve.close()


def page_of(url: str) -> str:
    """The truth of a made site: sid chooses nothing; m. shows what www. shows, but for every fifth page."""
    rest, _, query = url.partition("?")
    host, number = rest.removeprefix("http://").split("/p")
    shown = host if int(number) % 5 == 0 else host.replace("m.", "www.", 1)
    return f"{shown}/p{number}" if not query or query.startswith("sid=") else url


def spellings(sites: int, pages: int) -> list[str]:
    every = [(site, host, page) for site in range(sites) for host in ("www", "m") for page in range(pages)]
    return [f"http://{host}.site{site}.com/p{page}{sid}" for site, host, page in every for sid in ("", "?sid=1", "?sid=2", "?sid=3")]


def crawl_under_rules(address: str, seed: int, pause: float, moment: float, out: str) -> None:
    """Push spellings and take care of pages until then; every fetch is written down before it is settled. A long pause: by the time this
    worker pushes again, the rules have changed."""
    rng = random.Random(seed)
    sieve = urlsieve.open(address)
    every = spellings(3, 30)
    while time.time() < moment:
        report = sieve.push(rng.sample(every, 25))
        leases = sieve.pop(rng.randrange(1, 30))
        rows = [{"fetched": lease.url} for lease in leases] + [{"refused": report.reasons}] * bool(report.rejected)
        append(out, "".join(json.dumps(row) + "\n" for row in rows))
        time.sleep(pause)
        for lease in leases:
            other = lease.url.replace("//m.", "//www.")
            sieve.done(lease, final_url=other if page_of(other) == page_of(lease.url) else None)
    sieve.close()


def race_pop(address: str, batch: int, moment: float, out: str) -> None:
    """Take and settle until nothing is left."""
    sieve, found = urlsieve.open(address), []
    until(moment)
    while leases := sieve.pop(batch):
        found += [lease.url for lease in leases]
        sieve.done(leases)
    append(out, json.dumps(found) + "\n")
    sieve.close()


def work(address: str, out: str, ttl: float) -> None:
    """A worker: pop, note, settle, note; until it is killed or the queue is empty."""
    sieve = urlsieve.open(address)
    while leases := sieve.pop(7, lease=ttl):
        append(out, "".join(f"lease {lease.url}\n" for lease in leases))
        for lease in leases:
            try:
                if "/fail/" in lease.url and lease.attempt == 1:
                    sieve.fail(lease, "once", status=500)
                    continue
                sieve.done(lease, links=[f"{lease.url}/link"] if lease.depth == 0 else ())
            except urlsieve.LeaseLost:
                continue  # too slow: another worker has it
            append(out, f"done {lease.url}\n")
    sieve.close()


def rekey_now(address: str, profile: str) -> None:
    """The store gets a new secret and this profile."""
    opening.rekey(address, profile=profile, secret="new")


def rekey_step_by_step(address: str, profile: str, texts: int) -> None:
    """Killed once so many texts more are through than an earlier attempt had."""
    first: list[int] = []

    def progress(done: int) -> None:
        first.append(done)
        if done >= first[0] + texts:
            os.kill(os.getpid(), signal.SIGKILL)

    opening.rekey(address, profile=profile, secret="new", progress=progress)


def rekey_and_die(address: str, profile: str, at: int) -> None:
    """Killed before its at-th step: what it does with files, and each commit of the store that it makes. Small steps and short journals."""
    left = [at]

    def counting(real: Any) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return step

    for name in ("move", "remove", "remove_tree", "make_new_folder", "sync", "link", "write_new"):
        setattr(disk, name, counting(getattr(disk, name)))
    halfway.save = counting(halfway.save)
    rekeying.STEP = filling.STEP = queueing.PART = 20
    merging.LONGEST_JOURNAL = 50
    opening.rekey(address, profile=profile, secret="new")


def live_through_rekeys(address: str, seed: int, moment: float, out: str) -> None:
    """Push, pop, settle, forget nothing; told that the store was replaced, open it anew and settle what is still held. Every
    acknowledged push is written down."""
    rng, sieve, held = random.Random(seed), urlsieve.open(address), []
    number = 0
    while time.time() < moment:
        urls = [f"http://{rng.choice(('www.', ''))}h{n % 31}.example/{seed}/{n // 2}" for n in range(number, number + rng.randrange(1, 60))]
        try:
            report = sieve.push(urls)
            append(out, "".join(f"pushed {url}\n" for url in urls))
            number += len(urls) if not report.rejected else 0
            held += sieve.pop(rng.randrange(1, 40), lease=1000.0)
            rng.shuffle(held)
            some = held[:20]
            for settled in sieve.settle(
                [(lease, urlsieve.Outcome(rng.choice(("done", "done", "fail", "release", "skip")), reason="x")) for lease in some]
            ):
                if settled.state == "lost":
                    append(out, "lost\n")
            held = held[20:]
        except urlsieve.StoreUnavailable as error:
            if "open it anew" not in str(error):
                raise
            append(out, "reopened\n")
            sieve.close()
            sieve = urlsieve.open(address)
    append(out, f"held {len(held)}\n")
    sieve.close()


def change_rules(address: str, out: str) -> None:
    """A host map comes and goes without end, each time noted before and after, until killed."""
    sieve = urlsieve.open(address)
    sweep.SLICE, sweep.LOOK = 50, 200
    mapped = '[[site]]\nmatch = "{}"\nhosts = {{ "m.{}" = "www.{}" }}\nconfirmed = {{ by = "Ann", at = 2026-11-30 }}\n'
    text = "".join(mapped.format(*[f"h{number}.example"] * 3) for number in range(20))
    while True:
        for rules in (urlsieve.Rules.parse(text), None):
            append(out, "begin\n")
            sieve.apply_rules(rules, by="Ann")
            append(out, "end\n")


def change_rules_and_die(address: str, at: int, host: str) -> None:
    """A host map comes (or, without one, goes), in small slices; killed before the `at`-th commit. Its status is 0 when there are not so
    many."""
    left = [at]

    def each(sql: str) -> None:
        left[0] -= sql == "COMMIT"
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    sieve = urlsieve.open(address)
    sweep.SLICE, sweep.LOOK = 10, 30
    text = f'[[site]]\nmatch = "{host}"\nhosts = {{ "m.{host}" = "www.{host}" }}\nconfirmed = {{ by = "Ann", at = 2026-11-30 }}\n'
    sieve._store._ledger._db.set_trace_callback(each)  # type: ignore[attr-defined]
    sieve.apply_rules(urlsieve.Rules.parse(text) if host else None, by="Ann")
    os._exit(0)


def sweep_in_slices(address: str) -> None:
    """A host map comes, in small slices."""
    sieve = urlsieve.open(address)
    sweep.SLICE, sweep.LOOK = 50, 500
    hosts = 'hosts = { "m.h.example" = "www.h.example" }\nconfirmed = { by = "Ann", at = 2026-11-30 }'
    sieve.apply_rules(urlsieve.Rules.parse(f'[[site]]\nmatch = "h.example"\n{hosts}\n'), by="Ann")
    sieve.close()


def push_for_ever(address: str, out: str, first: int, batch: int) -> None:
    """Push numbered URLs and note each acknowledged batch, until killed."""
    sieve, number = urlsieve.open(address), first
    while True:
        sieve.push([race_url(n) for n in range(number, number + batch)])
        number += batch
        append(out, f"{number}\n")


def churn(address: str, hosts: int) -> None:
    """Push, pop, settle, forget without end: every kind of write may be the one that is cut."""
    sieve, number = urlsieve.open(address, durability="normal"), 0
    while True:
        urls = [f"http://c{number % hosts}.example/{os.getpid()}/{number}/{n}" for n in range(20)]
        number += 1
        sieve.push(urls)
        leases = sieve.pop(15)
        sieve.done(leases[:6], links=["/next"])
        sieve.fail(leases[6:9], "x", status=500)
        sieve.release(leases[9:11])
        sieve.skip(leases[11:12], "type")
        sieve.forget(urls[:2])
        sieve.push(urls[2:4], mode="again")


def churn_runs(address: str, hosts: int) -> None:
    """The same with a journal that becomes a run all the time."""
    merging.LONGEST_JOURNAL = 100
    churn(address, hosts)


def churn_texts(address: str, hosts: int) -> None:
    """The same with texts that are packed all the time, in small blocks, and done URLs that return or are forgotten."""
    packing.BATCH, packing.KEPT, packing.REST, packing.SLOTS, packing._AGAIN = 24, 8, 0.0, 8, 1
    merging.LONGEST_JOURNAL = 300
    rng = random.Random(os.getpid())
    with urlsieve.open(address) as sieve:
        while True:
            number = rng.randrange(100_000)
            sieve.push([f"http://h{n % hosts}.example/{n}" for n in range(number, number + 30)])
            sieve.done(sieve.pop(25))
            known = [f"http://h{n % hosts}.example/{n}" for n in range(number, number + 30, 7)]
            sieve.push(known[:2], mode="again")
            sieve.forget(known[2:])


def pack_and_die(address: str, at: int) -> None:
    """Killed before the `at`-th statement of packing; its status is 0 when there are not so many."""
    left = [at]

    def each(sql: str) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    store = opening.open(address)._store
    store._ledger._db.set_trace_callback(each)  # type: ignore[attr-defined]
    store.pack()  # type: ignore[attr-defined]
    os._exit(0)


def push_until_ctrl_c(address: str, first: int) -> None:
    merging.LONGEST_JOURNAL = 20
    try:
        sieve = urlsieve.open(address)
        for number in range(first, first + 10_000, 20):
            sieve.push([race_url(n) for n in range(number, number + 20)])
    except KeyboardInterrupt:
        os._exit(130)


def restore_and_die(backup: str, address: str, at: int) -> None:
    """Killed before the `at`-th time that a file gets its name."""
    left, real = [at], os.replace

    def replace(*names: Any) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*names)

    os.replace = replace  # type: ignore[assignment]
    opening.restore(backup, address, force=True)


def give_up_capabilities() -> None:
    """Root's right to read and write what the mode of a file forbids. Python's own files are still its owner's."""
    version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(version, none):
        raise OSError(ctypes.get_errno(), "capset")


def try_everything(address: str, urls: list[str], descriptors: int | None, out: str) -> None:
    """Without root's rights, or with few file descriptors: what each call says."""
    if descriptors is not None:
        used = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + descriptors, used + descriptors))
    else:
        give_up_capabilities()
    said = []
    for call in (
        lambda sieve: sieve.seen(urls),
        lambda sieve: sieve.push(urls),
        lambda sieve: list(sieve.sites()),
        lambda sieve: sieve.verify(),
    ):
        try:
            with urlsieve.open(address, create=False) as sieve:
                said.append(repr(call(sieve)))
        except urlsieve.UrlsieveError as error:
            said.append(f"{type(error).__name__}: {error}")
    append(out, json.dumps(said))


def back_up(address: str, place: str) -> None:
    with urlsieve.open(address) as sieve:
        sieve.backup(place)


def restore(backup: str, address: str) -> None:
    opening.restore(backup, address, force=True)


def upgrade(address: str, step: int) -> None:
    upgrading.STEP = step
    opening.upgrade(address)


def anonymous_memory() -> int:
    """Kilobytes of this process that are no file's."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))


def visit_hosts(address: str, marks: list[int], out: str) -> None:
    """Hosts with one URL each, all settled; kilobytes of memory and Python's blocks after each mark."""
    sieve, number, found = urlsieve.open(address, durability="normal"), 0, []
    for mark in marks:
        while number < mark:
            sieve.push([f"http://host-{n}.example/" for n in range(number, number + 2000)])
            number += 2000
            while leases := sieve.pop(1000):
                sieve.done(leases)
        gc.collect()
        found.append((anonymous_memory(), sys.getallocatedblocks()))
    append(out, json.dumps(found))
    sieve.close()


CALLS = {
    call.__name__: call
    for call in (
        create,
        push_then,
        pop_then_die,
        race_push,
        race_pop,
        crawl_under_rules,
        work,
        change_rules,
        change_rules_and_die,
        sweep_in_slices,
        push_for_ever,
        rekey_now,
        rekey_step_by_step,
        rekey_and_die,
        live_through_rekeys,
        churn,
        churn_runs,
        churn_texts,
        pack_and_die,
        back_up,
        restore,
        restore_and_die,
        push_until_ctrl_c,
        try_everything,
        upgrade,
        visit_hosts,
    )
}


def fork(name: str, args: list[Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.dup2(2, 1)  # stdout is the server's line to the tests
        CALLS[name](*args)
        status = 0
    except BaseException:  # noqa: BLE001 - a forked child must end here, whatever happens
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def wait(pid: int, timeout: float) -> int | None:
    """The exit status, or None after killing a child that took too long."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        answer = fork(asked["start"], asked["args"]) if "start" in asked else wait(asked["wait"], asked["timeout"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
