"""The reference crawler: start pages go in, every page of theirs is fetched once. Public API only; the example of a worker."""
