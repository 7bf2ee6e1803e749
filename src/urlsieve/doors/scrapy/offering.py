"""Requests in, the store's verdict on each out: what Scrapy's duplicate filter and queue are together.

A request that may be filtered is offered as new. One with `dont_filter` is too, and if its identity is taken already it is asked for
again: an entry that is done (or dead) returns with what this request carries; while another of the same identity still waits or is being
worked on, what this request carries becomes part of its own identity, so that neither is lost and the very same request does not wait
twice.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from urlsieve.doors.scrapy.identity import again_variant
from urlsieve.errors import ConfigError, mask_userinfo
from urlsieve.model import URLItem
from urlsieve.sieve import Sieve

logger = logging.getLogger(__name__)

_GONE = frozenset({"done", "dead", "known", "unseen"})


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A request as it is written down. `again`: it must not be filtered. `written` None: it cannot be written; the store is asked whether
    it knows it, and with `done` it is told that it was dealt with."""

    request: Any
    fingerprint: bytes
    url: str
    variant: bytes
    priority: int
    depth: int
    via: str | None
    written: dict[str, Any] | None
    again: bool = False
    done: bool = False

    def item(self, variant: bytes) -> URLItem:
        return URLItem(
            self.url,
            priority=self.priority,
            depth=self.depth,
            via=self.via,
            meta=self.written,
            variant=variant,
        )


class Offering:
    """Repeating a step that may have been done already is harmless: what was taken is then seen."""

    #: Requests in one step.
    MOST = 1000

    def __init__(self, sieve: Sieve) -> None:
        self._sieve = sieve

    def take(self, offers: list[Offer]) -> list[tuple[Offer, str]]:
        """One verdict each: new, seen, raised, requeued, or rejected:<reason>; of those that are not written: seen, aside (not seen), or
        marked."""
        try:
            return self._take(offers)
        except ConfigError as error:  # one of them makes no sense to a store, a priority out of range for example; the others do
            if len(offers) > 1:
                return [answer for offer in offers for answer in self.take([offer])]
            logger.error("The request for %s makes no sense to the store: %s", mask_userinfo(offers[0].url), error)
            return [(offers[0], "rejected:invalid_request")]

    def _take(self, offers: list[Offer]) -> list[tuple[Offer, str]]:
        verdicts: dict[int, str] = {}
        for answer, of_these in ((self._offer, _is_written), (self._ask, _is_question), (self._mark, _is_done)):
            at = [i for i, offer in enumerate(offers) if of_these(offer)]
            if at:
                verdicts.update(zip(at, answer([offers[i] for i in at]), strict=True))
        return [(offer, verdicts[i]) for i, offer in enumerate(offers)]

    def _ask(self, offers: list[Offer]) -> list[str]:
        return ["seen" if seen else "aside" for seen in self._sieve.seen([offer.item(offer.variant) for offer in offers])]

    def _mark(self, offers: list[Offer]) -> list[str]:
        self._sieve.mark([offer.item(offer.variant) for offer in offers])
        return ["marked"] * len(offers)

    def _offer(self, offers: list[Offer]) -> list[str]:
        verdicts = self._sieve.push([offer.item(offer.variant) for offer in offers]).verdicts
        taken = [i for i, offer in enumerate(offers) if offer.again and verdicts[i] == "seen"]
        if taken:
            for i, verdict in zip(taken, self._ask_again([offers[i] for i in taken]), strict=True):
                verdicts[i] = verdict
        return verdicts

    def _ask_again(self, offers: list[Offer]) -> list[str]:
        returning: dict[bytes, int] = {}
        verdicts = ["seen"] * len(offers)
        for i, offer in enumerate(offers):
            if offer.fingerprint not in returning and self._sieve.info(offer.url, variant=offer.variant).state in _GONE:
                returning[offer.fingerprint] = i
        self._push(list(returning.values()), offers, verdicts, own=False)
        # not taken as what they are: another waits, or was faster
        rest = [i for i, verdict in enumerate(verdicts) if verdict not in ("new", "requeued")]
        self._push(rest, offers, verdicts, own=True)
        return verdicts

    def _push(self, at: list[int], offers: list[Offer], verdicts: list[str], *, own: bool) -> None:
        if not at:
            return
        items = [offers[i].item(again_variant(offers[i].variant, offers[i].written or {}) if own else offers[i].variant) for i in at]
        for i, verdict in zip(at, self._sieve.push(items, mode="again").verdicts, strict=True):
            verdicts[i] = verdict


def _is_written(offer: Offer) -> bool:
    return offer.written is not None


def _is_question(offer: Offer) -> bool:
    return offer.written is None and not offer.done


def _is_done(offer: Offer) -> bool:
    return offer.written is None and offer.done
