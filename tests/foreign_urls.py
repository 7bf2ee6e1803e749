"""A seed goes in; URLs that are hostile to w3lib, Scrapy and Go come out, always the same for one seed."""

import random
from collections.abc import Sequence

import canon_urls as plain


def _words(text: str) -> list[str]:
    return text.split()


TOKENS = [
    *(
        _words(
            "%25 %3b %3F %23 %5b %5D %7c %2B %26 %3D + ; ;; ;x=1 ..; /.. /. /%2e%2e/ [ ] | # ? & = && == \\ %c3%a9 %E9 // $ @ ! * ~ ^ { }"
        )
    ),
    *(_words(" é ÿ ß İ ℀ 。 ' \" < > a Z 0 . ..")),
    *("\xa0", "\u2028", "\x0b", "\x7f", "\x00", "\x1f", " "),
]
#: What w3lib removes, refuses or treats apart.
ODD = ["\ud800", "\udc00", "\ud83d\ude00", "😀", "\ufffd", "\t", "\n", "\r"]
HOSTS = [
    *(
        _words(
            "e.com E.com [::1] [::FFFF:1.2.3.4] [fe80::1%25eth0] [fe80::1%Eth0] [v1.x] [V1.a:b] [1.2.3.4] [::1]x x[::1] bücher.de ＥXAMPLE.com"
        )
    ),
    *(
        _words(
            ".é.com ％41.com a％41é ［x］ ［::1］.é ℀.com a@b u:p@h u%40:%3A@H u:@h @h u[ser]@v1.a u[x]@1::2 %41.com a%2FB.com İ.com ſ.com"
        )
    ),
    *(
        _words(
            'xn--a XN--BCHER-KVA.de a..b e.com. e".com e<.com 1.2.3.4 ~ e^{}`.com [::é] [0:0::0] [1:2:3:4:5:6:7:8] a,b;c=d.com faß.de 日本.jp *.x'
        )
    ),
    *(_words("[fe80::1%25en0] [fe80::1%25%41%20] [fe80::1%25%2F] [fe80::1%25%zz]:80 [%25] e%C3%A9.com e%25.com e%.com [::1]:80:90 a:b:80")),
    *(_words("u!'()*:p@h u%zz@h u{@h é@h u%e9:%40:%2f@H [x x] ::1 e>.com []] [a[b]")),
    *("", "a b.c", "é" * 70 + ".com", "host\u00ad.com", "e\x7f.com", "e\x01.com", "e.com\x01", "\ud800.com"),
]
PORTS = ["", "", "", *(_words(": :80 :443 :080 :0 :65535 :65536 :8a :８０ :-1 :80:90 :99999999999")), ": 80", ":80 "]
PORTS += [":" + zeros * "0" + "80" for zeros in (50, 150, 5000)]
SCHEMES = [
    *(["http://"] * 8 + ["https://"] * 5),
    *(
        _words(
            "HTTP:// hTTps:// http:/ http: http:\\\\ http:/\\ http:\\ // ftp:// file:// file:/// foo:// foo:/ ws:// sip: mailto: data: about:"
        )
    ),
    *(_words("a+b-c.1:// 1http:// tel: svn+ssh:// javascript: itms-services:// imap://")),
    *("", "ht\ttp://"),
]
SEGMENTS = _words(". .. %2e %2E%2e .%2e ... .a a. ; a;b ;b;c ..;") + [""]
PIECES = [
    *plain.PIECES,
    *(
        _words(
            "a=%26 %3d=1 a=b=c = +=+ a+b %zz=1 A=2 a=10 a=9 é=ü a=\xff a%00=1 a=%00 a=\x00 a;b=1 a=1;b ts=1 TS=1 %74s=2 utm_medium=x UTM_medium a=1% a=1%2"
        )
    ),
]
TAME_HOSTS = _words("e.com www.Example.com a-b.c_d.org 1.2.3.4 e.com. e<.com e\".com ~ e^{}`'.c xn--A a")
TAME_PORTS = ["", "", "", *_words(": :80 :443 :0080 :0 :65535")]
_TAME = TOKENS * 2 + plain.PLAIN * 3 + plain.PERCENT * 2 + [token for token in plain.ODD + plain.SESSION if token not in ODD]
_ALL = _TAME + ODD


def _some(chance: random.Random, parts: Sequence[str], most: int) -> str:
    return "".join(chance.choice(parts) for _ in range(chance.randrange(most)))


def _rest(chance: random.Random, tokens: Sequence[str], slashes: str) -> str:
    out = ""
    for _ in range(chance.randrange(7) if chance.random() < 0.85 else 0):
        out += chance.choice(slashes) + (_some(chance, tokens, 5) if chance.random() < 0.7 else chance.choice(SEGMENTS))
    if chance.random() < 0.6:
        many = 40 if chance.random() < 0.1 else 7
        pieces = (chance.choice(PIECES) if chance.random() < 0.6 else _some(chance, tokens, 5) for _ in range(chance.randrange(many)))
        out += "?" + "&".join(pieces)
    return out + ("#" + _some(chance, tokens, 4) if chance.random() < 0.2 else "")


def _tame(chance: random.Random) -> str:
    """Odd in everything but what decides who reads it: most of these are the kernel's own."""
    head = chance.choice(["http://", "https://", "HTTP://"]) + chance.choice(TAME_HOSTS) + chance.choice(TAME_PORTS)
    return head + _rest(chance, _TAME, "////\\")


def _wild(chance: random.Random) -> str:
    if chance.random() < 0.05:
        return _some(chance, [*_ALL, *(chr(chance.randrange(0x110000)) for _ in range(8))], 14)
    url = chance.choice(SCHEMES) + chance.choice(HOSTS if chance.random() < 0.5 else TAME_HOSTS) + chance.choice(PORTS)
    url += _rest(chance, _ALL, "/")
    if chance.random() < 0.08:
        blanks = [" ", "\t", "\x00", "\x1f", "\n", "\x0b", "\xa0"]
        url = _some(chance, blanks, 3) + url + _some(chance, blanks[:5], 3)
    if chance.random() < 0.1 and url:
        at = chance.randrange(len(url))
        url = url[:at] + url[at + 1 :]
    return url


def urls(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [_tame(chance) if chance.random() < 0.6 else _wild(chance) for _ in range(count)]


def as_bytes(texts: list[str], seed: int) -> list[bytes]:
    """Their UTF-8, surrogates too, with a byte of any value in some."""
    chance = random.Random(seed)
    out = []
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        if chance.random() < 0.3:
            at = chance.randrange(len(data) + 1)
            data = data[:at] + bytes([chance.randrange(256)]) + data[at:]
        out.append(data)
    return out
