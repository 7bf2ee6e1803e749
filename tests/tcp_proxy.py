"""A proxy between a client and a server: it counts round trips, and cuts the connection at a chosen one, before or after the server had it."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

CHUNK = 1 << 16
#: Seconds without a byte after which a client is taken to wait for an answer.
SILENCE = 0.004


class Proxy:
    """`trips`: how often the client spoke after the server had. `cut(when)`: the next one is lost; "before": the server never gets it,
    "after": it is done, and the answer is lost."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.trips = 0
        self.cuts = 0
        self._next: str | None = None
        self._skip = 0
        self._lock = threading.Lock()
        self._open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, when: str, skip: int = 0) -> None:
        """After `skip` more round trips."""
        with self._lock:
            self._next, self._skip = when, skip

    def _accept(self) -> None:
        while self._open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self._target)) as server:
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            clients_turn, swallow = True, False
            while True:
                ready, _, _ = select.select([client, server], [], [])
                if client in ready:
                    data = self._all(client) if clients_turn else client.recv(CHUNK)
                    if not data:
                        return
                    if clients_turn:
                        clients_turn = False
                        lost = self._begin_trip()
                        if lost == "before":
                            return
                        swallow = lost == "after"
                    server.sendall(data)
                if server in ready:
                    data = server.recv(CHUNK)
                    if not data or swallow:
                        return
                    clients_turn = True
                    client.sendall(data)

    @staticmethod
    def _all(client: socket.socket) -> bytes:
        """What the client says before it falls silent: a long batch must be whole, or the server would answer its beginning."""
        data = client.recv(CHUNK)
        while data and select.select([client], [], [], SILENCE)[0]:
            more = client.recv(CHUNK)
            if not more:
                break
            data += more
        return data

    def _begin_trip(self) -> str | None:
        with self._lock:
            self.trips += 1
            if self._next is None:
                return None
            if self._skip:
                self._skip -= 1
                return None
            lost, self._next = self._next, None
            self.cuts += 1
            return lost

    def close(self) -> None:
        self._open = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
