"""Scope: hosts, paths, extensions and depth, of a job and of a site, which can only narrow the job's."""

import pytest

from urlsieve.canon.rules import Rules
from urlsieve.model import Budget

RULES = Rules.parse(
    """
    [scope]
    include_hosts = ["example.com", "=www.example.org", "=[::1]"]
    exclude_hosts = ["ads.example.com"]
    exclude_paths = ["/login*", "*/print"]
    exclude_extensions = ["zip", "exe"]
    depth = 5
    limits = { site = { urls = 100, pages = 50 }, job = { bytes = 1000 } }

    [[site]]
    match = "shop.example.com"
    [site.scope]
    include_paths = ["/item/*", "/"]
    depth = 2
    limits = { site = { urls = 7 } }

    [[site]]
    match = "=shop.example.com"
    path = "/item/x/*"
    [site.scope]
    include_extensions = ["html", ""]
    """
)


@pytest.mark.parametrize(
    ("key", "depth", "verdict"),
    [
        ("http://example.com/", 0, None),
        ("https://u:p@a.example.com:8080/x?y=/login", 5, None),
        ("https://a.example.com/", 6, "depth"),
        ("https://www.example.org/", 0, None),
        ("https://a.www.example.org/", 0, "scope"),
        ("https://example.org/", 0, "scope"),
        ("http://notexample.com/", 0, "scope"),
        ("http://[::1]:80/", 0, None),
        ("http://ads.example.com/", 0, "scope"),
        ("http://b.ads.example.com/", 0, "scope"),
        ("http://example.com/login", 0, "scope"),
        ("http://example.com/a/login", 0, None),
        ("http://example.com/a/print", 0, "scope"),
        ("http://example.com/a.ZIP?x", 0, "scope"),
        ("http://example.com/a.zip/b", 0, None),
        ("http://example.com/.zip", 0, None),
        ("http://example.com/a.exe;v=1", 0, "scope"),
        ("http://shop.example.com/", 2, None),
        ("http://shop.example.com/cart", 0, "rule"),
        ("http://shop.example.com/item/1", 3, "depth"),
        ("http://shop.example.com/item/login", 0, None),
        ("http://shop.example.com/item/x/a.html", 4, None),  # the more specific scope stands alone
        ("http://shop.example.com/item/x/a", 0, None),
        ("http://shop.example.com/item/x/a.pdf", 0, "rule"),
        ("http://a.shop.example.com/item/x/a.pdf", 0, None),
    ],
)
def test_a_key_is_in_scope_or_not(key: str, depth: int, verdict: str | None) -> None:
    assert verdict == RULES.scope.verdict(key, depth)


def test_limits_of_a_site_stand_for_those_of_the_job_one_by_one() -> None:
    job = {"site": Budget(urls=100, pages=50), "job": Budget(bytes=1000)}
    assert job == RULES.scope.limits("http://example.com/")
    assert job | {"site": Budget(urls=7, pages=50)} == RULES.scope.limits("http://a.shop.example.com/")


def test_without_bounds_everything_is_in_scope() -> None:
    scope = Rules.parse("[[site]]\nmatch = 'e.com'\n").scope
    assert (None, {}) == (scope.verdict("http://anything.example/a.zip", 10**9), scope.limits("http://e.com/"))
