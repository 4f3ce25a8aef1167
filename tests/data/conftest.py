"""A cache of one's own, the chapters' files where this machine has them, and a real HTTP server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

NAMED = os.environ.get("LOCKSTEP_DATA", "")
BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no other folder named; loopback is never sent through a proxy."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LOCKSTEP_CACHE", str(folder))
    monkeypatch.delenv("LOCKSTEP_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return folder


@pytest.fixture
def chapter_data(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Give the path of a chapters' file and name its folder in LOCKSTEP_DATA, or skip."""

    def give(name: str) -> Path:
        for folder in (Path(NAMED), BESIDE):
            if (folder / name).is_file():
                monkeypatch.setenv("LOCKSTEP_DATA", str(folder))
                return folder / name
        pytest.skip(f"no {name} in LOCKSTEP_DATA or {BESIDE}")

    return give


Route = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """A loopback HTTP server whose routes are functions; `hits` counts requests by path."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.hits: dict[str, int] = {}
        self.closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.hits[self.path] = server.hits.get(self.path, 0) + 1
                route = server.routes.get(self.path)
                try:
                    if route is None:
                        self.send_error(404)
                    else:
                        route(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client gave up, as the tests mean it to

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/"

    def send(self, path: str, body: bytes, *, length: int | None = None, wait: float = 0.0) -> None:
        """Serve `body` in ten pieces, `wait` seconds after each, stating `length` bytes."""

        def route(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body) if length is None else length))
            handler.end_headers()
            size = max(1, len(body) // 10)
            for at in range(0, len(body), size):
                handler.wfile.write(body[at : at + size])
                self.closing.wait(wait)

        self.routes[path] = route

    def close(self) -> None:
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()
