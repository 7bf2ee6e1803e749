"""Where a store may be, with another process making one at the worst moment."""

from pathlib import Path

import urlsieve
from urlsieve.stores.embedded import files


def test_a_store_that_another_makes_while_the_folder_is_listed_is_found(fast_path, monkeypatch):
    place, listed = fast_path / "store", []
    real = Path.iterdir

    def iterdir(path):
        if path == place and not listed:
            listed.append(path)
            with urlsieve.open(place) as sieve:  # in between
                sieve.push("http://a.example/")
            return iter(list(real(path)))
        return real(path)

    place.mkdir()
    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert files.locate(place, create=True)
    assert [place] == listed
