"""SipHash-2-4 against its published vectors and against its definition."""

import random

from canon_oracle import siphash
from urlsieve._kernel import siphash24

KEY = bytes(range(16))
# From the reference implementation (public domain): the message of entry i is the bytes 0 … i - 1; little-endian output.
PUBLISHED = [
    "310e0edd47db6f72",
    "fd67dc93c539f874",
    "5a4fa9d909806c0d",
    "2d7efbd796666785",
    "b7877127e09427cf",
    "8da699cd64557618",
    "cee3fe586e46c9cb",
    "37d1018bf50002ab",
    "6224939a79f5f593",
    "b0e4a90bdf82009e",
    "f3b9dd94c5bb5d7a",
    "a7ad6b22462fb3f4",
    "fbe50e86bc8f1e75",
    "903d84c02756ea14",
    "eef27a8e90ca23f7",
    "e545be4961ca29a1",
]


def test_the_published_vectors_come_out() -> None:
    assert [bytes.fromhex(vector) for vector in PUBLISHED] == [
        siphash24(KEY, bytes(range(i))).to_bytes(8, "little") for i in range(len(PUBLISHED))
    ]


def test_every_length_agrees_with_the_definition() -> None:
    chance = random.Random(7)
    for length in [*range(80), 255, 256, 257, 1000]:
        key, data = chance.randbytes(16), chance.randbytes(length)
        assert siphash(key, data) == siphash24(key, data)


def test_a_key_of_another_length_is_refused() -> None:
    for key in (b"", bytes(15), bytes(17)):
        try:
            siphash24(key, b"x")
        except ValueError as error:
            assert "16 bytes" in str(error)
        else:
            raise AssertionError(f"a key of {len(key)} bytes was taken")
