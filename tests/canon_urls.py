"""Hypothesis strategies of hostile URLs: chance goes in, texts that have broken canonicalisers come out."""

from hypothesis import strategies as st

PERCENT = [
    "%",
    "%2",
    "%4",
    "%25",
    "%2f",
    "%2F",
    "%2e",
    "%2E",
    "%41",
    "%7e",
    "%34%31",
    "%%34%31",
    "%61",
    "%00",
    "%e9",
    "%C3%A9",
    "%zz",
    "%u0041",
]
ODD = [
    " ",
    '"',
    "<",
    ">",
    "\\",
    "^",
    "`",
    "{",
    "|",
    "}",
    "[",
    "]",
    "'",
    "\x01",
    "\x7f",
    "\t",
    "\n",
    "\r",
    "é",
    "新",
    "😀",
    "\ufffd",
    "\u00ad",
    "\x00",
]
PLAIN = ["a", "B", "0", "9", "f", "-", ".", "..", "_", "~", "!", "$", "*", "+", ",", ":", "@", "(", "index.html"]
SESSION = [";jsessionid=0123456789ABCDEF", ";JSESSIONID=12345678", ";jsessionid=short", ";v=1", ";", ";jsessionid=12345678%2D"]
PIECES = [
    "a=1",
    "b=2",
    "a=0",
    "b",
    "=",
    "=x",
    "a",
    "a==b",
    "utm_source=x",
    "UTM_Source",
    "gclid=",
    "utm_sourcex=1",
    "PHPSESSID=0123456789abcdef0123456789",
    "phpsessid=0123456789abcdef0123456789",
    "jsessionid=0123456789ABCDEF",
    "ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX",
    "%75tm_source=1",
    "utm%5Fsource=1",
    "",
    "é=新",
    "q=a+b%20c",
    "x[]=1",
]
HOSTS = [
    "e.com",
    "E.COM",
    "www.example.co.uk",
    "e.com.",
    "e..com",
    ".e.com",
    "a_b.com",
    "a-b.com",
    "a--b.com",
    "xn--bcher-kva.example",
    "XN--Bcher-KVA.example",
    "xn--a",
    "bücher.example",
    "faß.de",
    "ｅ.com",
    "e%2ecom",
    "%65.com",
    "1.2.3.4",
    "0x7f.1",
    "1.2.3.256",
    "2130706433",
    "a.1",
    "a.0x",
    "[::1]",
    "[::FFFF:1.2.3.4]",
    "[::1",
    "u:p@e.com",
    "@e.com",
    ":@e.com",
    "a@b@e.com",
    "e com",
    "e<.com",
    "",
    "e.com\u00ad",
    "e。com",
    "a" * 70 + ".com",
    "*.e.com",
    "e.c'om",
]
PORTS = ["", "", "", ":", ":80", ":443", ":8080", ":0080", ":0", ":65535", ":65536", ":99999999999999999999", ":8a", ":-1", ": 80"]
SCHEMES = (
    ["http://"] * 6
    + ["https://"] * 4
    + ["HTTP://", "hTtPs://", "http:/", "http:", "https:\\\\", "http:///", "ht\ttp://", "//", "ftp://", ""]
)
FRAGMENTS = [
    "",
    "",
    "#",
    "#top",
    "#!",
    "#/",
    "#!/",
    "#!/p/1",
    "#/p?a=1",
    "#!x",
    "#\t/x",
    "#/\t",
    "#/é<>|",
    "#/%41%%34",
    "#a#b",
    "#%2Fx",
    "#!/#x",
]


def _joined(parts: list[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), max_size=most).map("".join)


segments = st.one_of(
    st.sampled_from([".", "..", "%2e", "%2E%2e", ".%2e", "", "a", "...", ".%2", "%2e%2e%2e", ".a", "..;jsessionid=12345678"]),
    _joined(PLAIN * 3 + PERCENT + ODD + SESSION, 5),
)
paths = st.lists(segments, max_size=6).map(lambda s: "".join("/" + x for x in s))
queries = st.one_of(
    st.just(""),
    st.lists(st.one_of(st.sampled_from(PIECES), _joined(PLAIN + PERCENT + ODD + ["=", "&", "?", "/"], 4)), max_size=7).map(
        lambda pieces: "?" + "&".join(pieces)
    ),
)
structured = st.tuples(
    st.sampled_from(SCHEMES), st.sampled_from(HOSTS), st.sampled_from(PORTS), paths, queries, st.sampled_from(FRAGMENTS)
).map("".join)
tame = st.tuples(
    st.sampled_from(["http://", "https://", "HTTPS://"]),
    st.sampled_from(["e.com", "WWW.Example.COM", "a.b.c.d.e-f.org", "long-host-name.with.many.labels.example.com.cn"]),
    st.sampled_from(["", ":80", ":8080"]),
    paths,
    queries,
    st.sampled_from(FRAGMENTS),
).map("".join)
noise = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
padded = st.tuples(st.sampled_from(["", " ", "\t", "\x00\x1f"]), structured, st.sampled_from(["", " ", "\n", "\x01 "])).map("".join)

urls = st.one_of(tame, tame, structured, structured, padded, noise, st.tuples(st.just("http://e.com/"), noise).map("".join))
references = st.tuples(
    st.sampled_from(
        ["", "/", "//", "/\\", "\\", "./", "../", "../../../", "?", "#", ":", "a:", "/\t/", "\t/", " ", "1:", "%2e%2E/", "x:y", "/:"]
    ),
    st.one_of(paths, paths.map(lambda path: path[1:]), _joined(PLAIN + PERCENT + ODD, 4)),
    queries,
    st.sampled_from(FRAGMENTS),
    st.sampled_from(["", "", " ", "\n"]),
).map("".join)
bases = st.sampled_from(
    ["http://base.example/x/y?q=1#f", "https://u:p@base.example:8443", "http://[::1]/", "ftp://base.example/", "nonsense", ""]
)
