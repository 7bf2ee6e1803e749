"""A sieve and lines of a rule in; the sieve's rules changed, and all that waits fetched, out."""

from sieve_lab import drain
from urlsieve import Rules

DROP = 'drop = ["sid"]'
HOSTS = 'hosts = { "m.example.com" = "www.example.com" }'


def rules(*lines, match="example.com"):
    """One rule, confirmed."""
    return Rules.parse(f'[[site]]\nmatch = "{match}"\n' + "\n".join(lines) + '\nconfirmed = { by = "Ann", at = 2026-11-30 }\n')


def apply(sieve, *lines):
    return sieve.apply_rules(rules(*lines), by="Ann")


def no_rules(sieve):
    return sieve.apply_rules(None, by="Bob")


def fetch(sieve, clock):
    """The URLs of all that waits, which is done now."""
    found = []
    drain(sieve, clock, lambda sieve, lease: found.append(lease.url) or sieve.done(lease))
    return sorted(found)


def the_lease(sieve):
    (lease,) = sieve.pop(1)
    return lease
