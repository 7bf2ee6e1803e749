"""A store in, its export as JSON lines out; an export in, its URLs in another store: state, attempts, order, settings and counts."""
