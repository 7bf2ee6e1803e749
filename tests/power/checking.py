"""A log in, the states that a power cut may leave out, each opened and held against what was acknowledged: what is wrong, in words.

After a cut a store must have what it had at some moment not before the last durable one and not after the next: whole (every URL in its
state, so none is seen and not queued), sound by `verify(deep=True)`, and of use: it takes new URLs, knows all old ones, and gives no token
that it has given before.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

from power import disk, workloads
from power.recording import DIED, Recorder, content, opened
from urlsieve import StoreMismatch, StoreUnavailable, UrlsieveError, opening
from urlsieve.stores.embedded import files

RAM = Path("/dev/shm")
#: One in so many states is also used, closed and opened again.
USED = 3


@dataclass
class Report:
    workload: str
    model: str
    operations: int = 0
    tried: int = 0
    states: int = 0  # of the tried ones that differ
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        bound = f"{3 / self.states:.2%}" if self.states and not self.problems else "-"
        return f"{self.workload:28} {self.model:8} {self.operations:10} {self.tried:8} {self.states:8} {len(self.problems):8}  {bound}"


HEADING = f"{'protocol':28} {'model':8} {'operations':>10} {'tried':>8} {'states':>8} {'failures':>8}  at most (95 %)"


@contextmanager
def place() -> Iterator[Path]:
    found = Path(tempfile.mkdtemp(dir=RAM if RAM.is_dir() else None, prefix="urlsieve-power-"))
    try:
        yield found
    finally:
        shutil.rmtree(found)


class Recording:
    """One log and what its notes say of each moment."""

    def __init__(self, name: str, where: Path) -> None:
        self.name, self.root, self.base = name, where / "root", where / "base"
        self.store = workloads.STORES.get(name, "store")
        self.records = disk.records(where / "log")
        #: (index in the log, content as JSON or None, durable)
        self.worlds: list[tuple[int, str | None, bool]] = []
        self.tokens: list[tuple[int, str]] = []
        self.copies: list[tuple[int, bool, str]] = []
        for at, record in enumerate(self.records):
            if record.kind == "N":
                self._note(at, json.loads(record.first))
        self.operations = sum(record.kind in "OWTSRUMX" for record in self.records)

    def _note(self, at: int, note: dict[str, Any]) -> None:
        if "copy" in note:
            self.copies.append((at, note["whole"], json.dumps(note.get("world"), sort_keys=True)))
        elif "world" in note:
            text = None if note["world"] is None else json.dumps(note["world"], sort_keys=True)
            self.worlds.append((at, text, note["durable"]))
        self.tokens += [(at, token) for token in note.get("tokens", ())]

    def allowed(self, cut: int) -> list[str | None]:
        """What may be left when the first `cut` records were made."""
        first = last = 0
        for number, (at, _, durable) in enumerate(self.worlds):
            if at < cut:
                first = number if durable else first
                last = number + 1
        return [text for _, text, _ in self.worlds[first : last + 1]]

    def allowed_after_a_failure(self, whole: Recording) -> list[str | None]:
        """At the end. What the failed step would have done may be there too: its commit may be found after a kill, though it was never
        said to be one. `whole`: the same without a failure."""
        mine = self.allowed(len(self.records)) or [whole.worlds[0][1]]  # of a store that could not be opened at all
        return mine + [then for (_, now, _), (_, then, _) in pairwise(whole.worlds) if now == mine[-1]]

    def given(self, cut: int) -> set[str]:
        return {token for at, token in self.tokens if at < cut}

    def copied(self, cut: int) -> tuple[bool, bool]:
        """Whether a copy may be there, and whether it must."""
        said = [whole for at, whole, _ in self.copies if at < cut]
        return bool(said), any(said)


def check(recording: Recording, place: Path, cut: int, *, use: bool, allowed: list[str | None] | None = None) -> str | None:
    """What is wrong with the store here, None if nothing is. `allowed`: what it may have, if not what it may have after the cut."""
    try:
        wrong = _check_copy(recording, place, cut)
        return wrong or _check(recording, place / recording.store, cut, allowed or recording.allowed(cut), use=use)
    except UrlsieveError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported with its state
        return f"not an error of ours: {error!r}"


def _check(recording: Recording, store: Path, cut: int, allowed: list[str | None], *, use: bool) -> str | None:
    try:
        sieve = opened(store)
    except StoreUnavailable as error:
        if "there is no store" in str(error) and None in allowed:
            return None
        raise
    except StoreMismatch as error:
        if error.field != "schema" or (recording.worlds and recording.worlds[0][0] < cut):
            raise
        opening.upgrade(store)
        sieve = opened(store)
    with sieve:
        found = content(sieve._store._ledger)
        text = json.dumps(found, sort_keys=True)
        if text not in allowed:
            return f"its content is none that it had since the last durable one: {_difference(found, allowed)}"
        if problems := sieve.verify(deep=True):
            return f"verify: {problems}"
        urls = sorted({url for one in allowed if one for url in json.loads(one)["urls"] if url.startswith("http")})
        seen = sieve.seen(urls)
        wrong = [url for url, there in zip(urls, seen, strict=True) if there is not (url in found["urls"])]
        if any(not found["rules"] or url in found["urls"] for url in wrong):  # under rules, another URL of the same page is seen
            return f"seen() is wrong of {wrong[:3]}"
        if use:
            return _use(recording, sieve, store, cut, urls)
    return None


def _use(recording: Recording, sieve: Any, store: Path, cut: int, urls: list[str]) -> str | None:
    """It goes on, and what it did is there after a close."""
    sieve.push([*urls, *workloads.pages(50, 9000)])
    leases = sieve.pop(10)
    if again := {lease.token for lease in leases} & recording.given(cut):
        return f"tokens are given again: {again}"
    sieve.done(leases)
    sieve.close()
    with opened(store) as sieve:
        if problems := sieve.verify(deep=True):
            return f"verify, after use: {problems}"
        if not all(sieve.seen([*urls, *workloads.pages(50, 9000)])):
            return "what was pushed is not seen"
        stray = {path.name for path in (store / "runs").glob("*") if path.name.endswith((".run", ".level"))}
        with sieve._store._ledger.read() as db:
            named = {name for (name,) in db.execute("SELECT name FROM run")}
        named |= {name for name in stray if name.endswith(".level")}
        if stray - named:
            return f"files of nobody stay: {stray - named}"
    return None


def _check_copy(recording: Recording, place: Path, cut: int) -> str | None:
    """A backup is whole, or it is not there."""
    may, must = recording.copied(cut)
    copy = place / "copy"
    if not may or (not must and not copy.exists()):
        return None
    with opened(copy) as sieve:
        found = json.dumps(content(sieve._store._ledger), sort_keys=True)
        if found != recording.copies[-1][2]:
            return "the backup has another content"
        problems = sieve.verify(deep=True)
        return f"the backup: {problems}" if problems else None


def _difference(found: dict[str, Any], allowed: list[str | None]) -> str:
    ours, theirs = found["urls"], json.loads(allowed[-1] or '{"urls": {}}')["urls"]
    odd = {url: (theirs.get(url), ours.get(url)) for url in ours.keys() | theirs.keys() if ours.get(url) != theirs.get(url)}
    rest = {key: value for key, value in found.items() if key != "urls"}
    return f"{len(odd)} of {len(allowed)} worlds, e.g. (expected, found) {dict(list(odd.items())[:3])}; {rest}"


# -- many states


def some(recording: Recording, model: str, wanted: int, seed: int) -> tuple[int, dict[bytes, str | None]]:
    """So many states that differ, if there are that many. (tried, digest of a state → what is wrong with it)."""
    chance = random.Random(f"{recording.name} {model} {seed}")
    found: dict[bytes, str | None] = {}
    tried = 0
    with place() as where, mock.patch.object(files, "boot_id", lambda: "the next one"):
        while len(found) < wanted and tried < 4 * wanted:
            at = sorted(chance.randint(0, len(recording.records)) for _ in range(min(len(recording.records), wanted - len(found))))
            model_disk, done = disk.Disk(recording.root, recording.base, model), 0
            for cut in at:
                for record in recording.records[done:cut]:
                    model_disk.apply(record)
                done = cut
                image = model_disk.image(chance)
                tried += 1
                digest = _digest(image, recording.allowed(cut))
                if digest not in found:
                    found[digest] = _try(recording, where / "state", image, cut, use=not len(found) % USED)
    return tried, found


def _digest(image: dict[str, bytes | None], allowed: list[str | None]) -> bytes:
    mark = hashlib.blake2b(digest_size=16)
    for path, data in sorted(image.items()):
        if not path.endswith("-shm"):
            mark.update(repr((path, data is None, len(data or b""))).encode())
            mark.update(data or b"")
    mark.update(repr(allowed).encode())
    return mark.digest()


def _try(recording: Recording, state: Path, image: dict[str, bytes | None], cut: int, *, use: bool) -> str | None:
    disk.put(image, state)
    wrong = check(recording, state, cut, use=use)
    if wrong is not None and (keep := os.environ.get("URLSIEVE_POWER_KEEP")):
        target = Path(keep) / f"{recording.name.replace(' ', '-')}-{cut}"
        if not target.exists():
            disk.put(image, target)
    shutil.rmtree(state)
    return None if wrong is None else f"cut {cut}: {wrong}"


def record(recorder: Recorder, name: str, where: Path, fault: tuple[str, int, str, int] | None = None) -> Recording:
    (where / "root").mkdir()
    workloads.ALL[name].prepare(where / "root")
    shutil.copytree(where / "root", where / "base")
    status = recorder.record(name, where / "root", where / "log", fault)
    assert status == 0 or (fault and fault[2] == "dies" and status == DIED), f"{name} failed with {status}"
    return Recording(name, where)


def everything_was_recorded(recording: Recording) -> list[str]:
    """Files that are not as the log says; none."""
    model = disk.Disk(recording.root, recording.base, "ordered")
    for one in recording.records:
        model.apply(one)
    real = {
        str(path.relative_to(recording.root)): None if path.is_dir() else path.read_bytes()
        for path in recording.root.rglob("*")
        if not path.name.endswith("-shm")  # mapped, and made anew after a restart
    }
    said = {path: data for path, data in model.now().items() if not path.endswith("-shm")}
    return sorted(path for path in real.keys() | said.keys() if real.get(path, 1) != said.get(path, 1))


def cut(recorder: Recorder, name: str, states: int, *, seed: int = 0, workers: int | None = None) -> list[Report]:
    """Records a workload and checks so many different states of each model."""
    workers = workers or min(os.cpu_count() or 1, 8)
    with place() as where:
        recording = record(recorder, name, where)
        assert [] == everything_was_recorded(recording)
        reports = []
        for model in disk.MODELS:
            parts = [(recording, model, -(-states // workers), 1000 * seed + part) for part in range(workers)]
            with multiprocessing.get_context("fork").Pool(workers) as pool:
                results = pool.starmap(some, parts, chunksize=1)
            found = {digest: wrong for _, part in results for digest, wrong in part.items()}
            problems = [wrong for wrong in found.values() if wrong is not None]
            reports.append(Report(name, model, recording.operations, sum(tried for tried, _ in results), len(found), problems))
        return reports
