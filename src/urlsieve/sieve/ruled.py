"""The store's rules out; changes of them in."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from urlsieve import checks, ruling, witnessing
from urlsieve.errors import ConfigError
from urlsieve.ruling import Applied

if TYPE_CHECKING:
    from urlsieve.canon.proposals import Proposals
    from urlsieve.canon.rulebook import Book
    from urlsieve.canon.rules import Rules

from urlsieve.sieve.opened import Opened


class Ruled(Opened):
    """The verbs about rules."""

    def proposals(self) -> Proposals:
        """What pages with one signature and redirects have told of this store's sites: rules that a person could confirm, and how far
        the rest is from it (see docs/rules.md). Changes nothing."""
        form = self._read_rules()
        return witnessing.proposals(self._store, form.canonicalizer, form.rules)

    def proposed_rules(self) -> str:
        """The same as a file of rules: today's, and the proposals, of which none is applied before somebody has looked."""
        from urlsieve.canon.proposaltext import toml

        found = self.proposals()
        return toml(found, "" if self._form.rules is None else self._form.rules.text)

    @property
    def rules(self) -> Rules | None:
        """The store's site rules as they are now; None: it has none."""
        return self._read_rules().rules

    def rules_history(self) -> Book:
        """Today's rules with their generation, those before that still matter, and who changed what."""
        return ruling.book_of(self._store)

    def apply_rules(self, rules: Rules | str | os.PathLike[str] | None, *, by: str = "", dry_run: bool = False) -> Applied:
        """The rules of a file or set become the store's, for all workers, in one step; None: no rules from now on. Workers that have older
        ones are told at their next push. dry_run: only says what it would do. ConfigError: mistakes, or it cannot be applied here."""
        from urlsieve.canon.rules import rules_of

        new = rules_of(rules)
        return self._change_rules(lambda old: new, "apply", by=by, dry_run=dry_run)

    def confirm_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """What a rule (its match, and its path after a blank where there are several) only proposes is applied from now on."""
        return self._mark_rule(match, "confirm", by, evidence)

    def suspend_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """A rule is as if it were not there, until it is resumed."""
        return self._mark_rule(match, "suspend", by, evidence)

    def resume_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """A suspended rule holds again."""
        return self._mark_rule(match, "resume", by, evidence)

    def _mark_rule(self, match: str, what: str, by: str, evidence: str) -> Applied:
        if not checks.text("by", by):
            raise ConfigError(f"{what} needs the name of who says so (by=)")
        said = ruling.said(by, evidence, self._clock())
        return self._change_rules(lambda old: ruling.marked(old, match, what, said), what, by=by, match=match, evidence=evidence)

    def _change_rules(
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

        applied = ruling.change(self._store, make, Changed(0, self._clock(), what, by, match, evidence), dry=dry_run)
        self._read_rules()
        return applied
