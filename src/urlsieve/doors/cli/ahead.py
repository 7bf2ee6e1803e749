"""An iterator goes in; the same items come out, made by a thread that works ahead of whoever takes them.

For work that releases the GIL (reading, the kernel): it then runs beside what is done with the items. What is ready is never held back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Queue
from typing import TypeVar

T = TypeVar("T")


def ahead(source: Iterator[T], *, depth: int = 2) -> Iterator[T]:
    """At most `depth` items wait. An exception of `source` is raised here, in its place."""
    ready: Queue[tuple[T] | BaseException | None] = Queue(depth)

    def work() -> None:
        try:
            for item in source:
                ready.put((item,))
        except BaseException as error:  # noqa: BLE001 - it is raised on the other side
            ready.put(error)
        else:
            ready.put(None)

    # A daemon: it may sit in a read that never returns when the taker has enough.
    threading.Thread(target=work, daemon=True).start()
    while (found := ready.get()) is not None:
        if isinstance(found, BaseException):
            raise found
        yield found[0]
