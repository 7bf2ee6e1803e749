"""The embedded store: a directory with a SQLite ledger (or the same in memory), shared fairly by many processes."""

from urlsieve.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
