"""Stores: places that hold the seen set, the queue and the leases. A store obeys, it never decides."""
