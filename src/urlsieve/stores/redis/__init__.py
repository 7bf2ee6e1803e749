"""The Redis store: one job on one server, its URLs spread over shards, every step a Lua script on one of them."""

from urlsieve.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
