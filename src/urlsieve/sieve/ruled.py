"""The store's rules out; changes of them in."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from urlsieve import checks, ruling, witnessing
from urlsieve.errors import ConfigError, mask_userinfos
from urlsieve.ruling import Applied

if TYPE_CHECKING:
    from urlsieve.canon.proposals import Proposals
    from urlsieve.canon.rulebook import Book
    from urlsieve.canon.rules import Rules

from urlsieve.sieve.opened import Opened


class Ruled:
    """The verbs about rules. What each promises is said in `Sieve`."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def proposals(self) -> Proposals:
        form = self._opened.read_rules()
        return witnessing.proposals(self._opened.store, form.canonicalizer, form.rules)

    def proposed_rules(self) -> str:
        from urlsieve.canon.proposaltext import toml

        found = self.proposals()
        return toml(found, "" if self._opened.form.rules is None else self._opened.form.rules.text)

    @property
    def rules(self) -> Rules | None:
        return self._opened.read_rules().rules

    def rules_history(self) -> Book:
        return ruling.book_of(self._opened.store)

    def apply_rules(self, rules: Rules | str | os.PathLike[str] | None, *, by: str = "", dry_run: bool = False) -> Applied:
        from urlsieve.canon.rules import rules_of

        new = rules_of(rules)
        return self.change(lambda old: new, "apply", by=by, dry_run=dry_run)

    def confirm_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        return self._mark_rule(match, "confirm", by, evidence)

    def suspend_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        return self._mark_rule(match, "suspend", by, evidence)

    def resume_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        return self._mark_rule(match, "resume", by, evidence)

    def _mark_rule(self, match: str, what: str, by: str, evidence: str) -> Applied:
        if not checks.text("by", by):
            raise ConfigError(f"{what} needs the name of who says so (by=)")
        said = ruling.said(by, evidence, self._opened.clock())
        return self.change(lambda old: ruling.marked(old, match, what, said), what, by=by, match=match, evidence=evidence)

    def change(
        self,
        make: Callable[[Rules | None], Rules | None],
        what: str,
        *,
        by: str,
        match: str = "",
        evidence: str = "",
        dry_run: bool = False,
    ) -> Applied:
        from urlsieve.canon.rulebook import Changed

        now = self._opened.clock()
        changed = Changed(0, now, what, mask_userinfos(by), match, mask_userinfos(evidence))
        applied = ruling.change(self._opened.store, make, changed, now, dry=dry_run)
        self._opened.read_rules()
        return applied
