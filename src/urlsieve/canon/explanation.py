"""One or two URLs go in; which step did what to them, and whether they are one page's, comes out in sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from urlsieve.canon import joining, profiles, reasoning
from urlsieve.canon.reasons import REASON_OF_CODE
from urlsieve.canon.rulevalues import Rule
from urlsieve.canon.stages import Stage, stages
from urlsieve.canon.switches import switched
from urlsieve.errors import mask_userinfo

if TYPE_CHECKING:
    from urlsieve.canon.canonicalizer import Canonicalizer


@dataclass(frozen=True, slots=True)
class Step:
    """One step that changed a URL. `after` is None where the URL was rejected; `rule` says which site rule it is of, if it is one's."""

    name: str
    before: str
    after: str | None
    why: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """same: None for one URL. steps: for each URL those that changed it, in order. keys: for each URL its key, or None.
    notes: what else there is to say, of rules that apply or wait, and of two URLs what would join them.
    """

    same: bool | None
    steps: tuple[tuple[Step, ...], ...]
    keys: tuple[str | None, ...]
    urls: tuple[str, ...]
    verdict: str
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str | None:
        """The first URL's key, or None if it is rejected."""
        return self.keys[0]

    def as_dict(self) -> dict[str, object]:
        """What `explain --json` prints; user info in the steps is masked."""
        told: dict[str, object] = {
            "same": self.same,
            "steps": [[_masked(step) for step in steps] for steps in self.steps],
            "keys": list(self.keys),
        }
        return told | {"notes": list(self.notes)} if self.notes else told

    def __str__(self) -> str:
        lines: list[str] = []
        for url, steps, key in zip(self.urls, self.steps, self.keys, strict=True):
            lines.append(_shown(url))
            for step in steps:
                lines.append(f"  {step.name}: {step.why}{f' [{step.rule}]' if step.rule else ''}")
                if step.after is not None:
                    lines.append(f"    {_shown(step.after)}")
            lines.append(f"  key: {mask_userinfo(key)}" if key is not None else "  no key: rejected")
        lines += [self.verdict, *self.notes]
        return "\n".join(lines)


def _masked(step: Step) -> dict[str, str | None]:
    after = None if step.after is None else mask_userinfo(step.after)
    masked = {"name": step.name, "before": mask_userinfo(step.before), "after": after, "why": step.why}
    return masked | {"rule": step.rule} if step.rule else masked


def _shown(url: str) -> str:
    masked = mask_userinfo(url)
    return masked if masked.isprintable() else repr(masked)


def explain(
    canonicalizer: "Canonicalizer", url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None
) -> Explanation:
    """See Canonicalizer.explain."""
    told = [_one(canonicalizer, url, base) for url in ((url_a,) if url_b is None else (url_a, url_b))]
    keys = tuple(one.key for one in told)
    same = None if url_b is None else keys[0] is not None and keys[0] == keys[1]
    notes = [note for one in told for note in one.notes]
    if same is False and None not in keys:
        notes += joining.what_would_join(canonicalizer, [one.text for one in told], base)
    return Explanation(
        same=same,
        steps=tuple(one.steps for one in told),
        keys=keys,
        urls=tuple(one.text for one in told),
        verdict=reasoning.verdict(keys),
        notes=tuple(dict.fromkeys(notes)),
    )


class _Told(NamedTuple):
    text: str
    steps: tuple[Step, ...]
    key: str | None
    notes: tuple[str, ...]


class _Under(NamedTuple):
    """The rule a URL is under: as the file has it, as the switches leave it, and why its change of the path is not made."""

    rule: Rule
    switched: Rule
    unsettled: int
    source: str


def _one(canonicalizer: "Canonicalizer", url: str | bytes, base: str | None) -> _Told:
    """Runs the same kernel with one step more each time, and notes what changes."""
    resolve, href = canonicalizer._against(base)
    text = before = canonicalizer._read(url)
    steps: list[Step] = []
    final = canonicalizer._program.one(url, resolve, href)[0]
    under = _under(canonicalizer, url, base)
    notes = tuple(_notes(under, canonicalizer)) if under is not None else ()
    path_stays = under is not None and under.unsettled != 0
    for stage in stages(canonicalizer, None if under is None else under.switched, path_stays=path_stays):
        status, _, key, *_ = stage.program.one(url, resolve, href)
        if status and (status == final or stage.name == "limits"):
            reason = REASON_OF_CODE[status] or ""
            steps.append(Step(stage.name, before, None, f"rejected as {reason}: {reasoning.REJECTED[reason]}"))
            return _Told(text, tuple(steps), None, notes)
        after = before if status else key.decode()  # too long only until a later step has dropped something
        if after != before:
            steps.append(_step(stage, before, after, under))
        before = after
    return _Told(text, tuple(steps), before, notes)


def _step(stage: Stage, before: str, after: str, under: "_Under | None") -> Step:
    if stage.rule is None or under is None:
        return Step(stage.name, before, after, reasoning.WHY[stage.name](before, after))
    return Step(stage.name, before, after, reasoning.why_of_rule(stage.name, under.rule, before, after), under.source)


def _under(canonicalizer: "Canonicalizer", url: str | bytes, base: str | None) -> _Under | None:
    if canonicalizer._compiled is None or canonicalizer.rules is None:
        return None
    on = switched(canonicalizer.profile).on
    compiled = canonicalizer.rules.compiled(switches=on, limited=False)
    assert compiled is not None
    mode = profiles.fragment_mode(canonicalizer.profile, canonicalizer.fragment)
    bits = canonicalizer._steps | profiles.steps_of(canonicalizer.profile)
    unlimited = profiles.compile_program(bits, mode, bytes(16), switches=on, rules=compiled.table)
    _, _, number, unsettled = unlimited.look(url, *canonicalizer._against(base))
    if number is None:
        return None
    rule = compiled.rules[number]
    source = f"site rule {rule.name!r}, {canonicalizer.rules.name}:{canonicalizer.rules.source_of(rule).line}"
    return _Under(rule, compiled.switched[number], unsettled, source)


def _notes(under: _Under, canonicalizer: "Canonicalizer") -> Iterator[str]:
    confirmed = under.rule.confirmed
    by = (
        f"; confirmed by {confirmed.by} on {confirmed.at}{f', evidence {confirmed.evidence}' if confirmed.evidence else ''}"
        if confirmed
        else ""
    )
    yield f"under the {under.source}{by}"
    if under.unsettled == 1:
        yield "its change of the path is not made: it would put the URL under another rule or none"
    if under.unsettled == 2:
        yield "its change of the path is not made: done again it would change the path again"
    proposed = canonicalizer.rules.proposed_of(under.rule) if canonicalizer.rules is not None else ()
    if proposed:
        yield f"its {' and '.join(proposed)} is only proposed: nobody has confirmed it, so it is not applied"
