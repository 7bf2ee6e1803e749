"""Golden inputs go in, a digest of what the form makes of them comes out: no parser can change its mind unnoticed."""

from functools import lru_cache

INPUTS: tuple[str | bytes, ...] = (
    "http://example.com?",
    "http://example.com",
    "HTTP://WWW.Example.COM:80/%7eu/./a/../b%2fc;v=1?b=2&a=1&utm_source=x&&c#top",
    "https://e.com:443/a;jsessionid=0123456789ABCDEF/..;jsessionid=0123456789?PHPSESSID=0123456789abcdef0123456789&q=a+b%20c",
    "https://e.com:8443/#!/p/1",
    "http://e.com/%%34%31/%4%31/100%/^`{|}[]\"<>'?'=\\^`{|}[]\"<>'#/^`{|}[]\\\"<>'",
    "http://e.com/\x01\x7f\u00e9\u65b0?\u65b0=\u00e9&\u00e9",
    b"http://e.com/\xff\xc3\xa9?\xe9=1",
    "http://e.com/?/topic/57/&x",
    "http://e.com/?s=b&s=a&S=c&r",
    "http://fa\u00df.de/",
    "http://\u03b2\u03cc\u03bb\u03bf\u03c2.com/",
    "http://\U0001f4fb.fm/",
    "http://\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.com/",
    "http://XN--Bcher-KVA.example/",
    "http://e%78ample.com/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://1.2.3.256/",
    "http://[::FFFF:1.2.3.4]:80/",
    "http://[fe80::1%25eth0]/",
    "http://User:Pa%73s@e.com/",
    "http://:@e.com./",
    "http:\\\\e.com\\a\tb\nc",
    "http:/e.com/a",
    "http://a..b_c-/",
    "http://e.com:99999/",
    "http:///",
    "ftp://e.com/",
    "//e.com/a",
    " \t\n",
    "http://xn--a/",
    "http://\u00ad/",
)


@lru_cache(maxsize=1)
def vectors_digest() -> str:
    """64 hexadecimal digits over what profiles safe and exact make of the golden inputs; computed, not stored."""
    from hashlib import sha256

    from urlsieve.canon.canonicalizer import Canonicalizer

    digest = sha256()
    for profile in ("safe", "exact"):
        keys = Canonicalizer(profile=profile).canonicalize_many(INPUTS)
        for key, reason in zip(keys, keys.reasons, strict=True):
            digest.update(f"{profile}\t{key}\t{reason}\n".encode())
    return digest.hexdigest()
