"""SEC-05: a crawler connects to public addresses only, whatever name or redirect led there."""

import asyncio

import pytest
from crawler_lab import page, redirect

from urlsieve.doors.crawler import address
from urlsieve.doors.crawler.fetch import Fetcher, NotForUs

PRIVATE = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "203.0.113.5",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "::",
    "::1",
    "fe80::1",
    "fec0::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a00:1::1",
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize("ip", PRIVATE)
def test_a_private_address_is_refused(ip):
    assert not address.is_public(ip)


@pytest.mark.parametrize("ip", PUBLIC)
def test_a_public_address_is_not(ip):
    assert address.is_public(ip)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]"])
def test_no_spelling_or_name_of_loopback_gets_a_connection(serve, crawl, host):
    site = serve({"/": lambda _: page()})
    result = crawl(f"http://{host}:{site.port}/", allow_private=False)
    assert [] == site.log
    assert {"address": 1} == result.report["skipped"]
    assert 0 == result.report["pages"]


def test_the_metadata_service_is_refused_without_a_connection(crawl):
    assert {"address": 1} == crawl("http://169.254.169.254/latest/meta-data/", allow_private=False).report["skipped"]


def test_a_redirect_to_a_private_address_is_refused(serve, crawl, monkeypatch):
    """As if 127.0.0.1 were a public address and 127.0.0.2 were not."""
    inside = serve({"/": lambda _: page()}, host="127.0.0.2")
    site = serve({"/": lambda _: page("/go"), "/go": lambda _: redirect(inside.url + "/")})
    monkeypatch.setattr(address, "is_public", lambda ip: ip == "127.0.0.1")
    result = crawl(site.url + "/", allow_private=False)
    assert [] == inside.log
    assert {"/": 1, "/go": 1} == dict(site.asked)
    assert {"address": 1} == result.report["skipped"]


def test_a_robots_txt_that_redirects_to_a_private_address_is_refused(serve, crawl, monkeypatch):
    inside = serve({"/": lambda _: page()}, host="127.0.0.2")
    site = serve({"/": lambda _: page(), "/robots.txt": lambda _: redirect(inside.url + "/")})
    monkeypatch.setattr(address, "is_public", lambda ip: ip == "127.0.0.1")
    crawl(site.url + "/", allow_private=False)
    assert [] == inside.log
    assert {} == dict(site.asked)


def test_a_sitemap_that_names_a_private_address_is_not_gone_to(serve, crawl, monkeypatch):
    from aiohttp import web

    inside = serve({"/": lambda _: page(), "/map.xml": lambda _: page()}, host="127.0.0.2")
    site = serve({"/": lambda _: page()})
    site.pages["/robots.txt"] = lambda _: web.Response(text=f"Sitemap: {site.url}/i.xml\nSitemap: {inside.url}/map.xml")
    index = (
        f"<sitemapindex><sitemap><loc>{inside.url}/map.xml?2</loc></sitemap><sitemap><loc>{site.url}/map.xml</loc></sitemap></sitemapindex>"
    )
    site.pages["/i.xml"] = lambda _: web.Response(text=index)
    site.pages["/map.xml"] = lambda _: web.Response(text=f"<urlset><url><loc>{inside.url}/</loc></url></urlset>")
    monkeypatch.setattr(address, "is_public", lambda ip: ip == "127.0.0.1")
    result = crawl(site.url + "/", allow_private=False, from_sitemap=["auto"])
    assert [] == inside.log
    assert {"address": 3} == result.report["skipped"]


def test_a_proxy_of_the_environment_is_not_used(serve, monkeypatch):
    """It would connect for us, and nobody would check where to."""
    proxy = serve({"/": lambda _: page()})
    monkeypatch.setenv("http_proxy", proxy.url)

    async def get():
        async with Fetcher("test/1") as fetcher:
            await fetcher.get("http://127.0.0.1:9/")

    with pytest.raises(NotForUs, match="address"):
        asyncio.run(get())
    assert [] == proxy.log
