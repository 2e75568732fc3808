"""A server on loopback that stands for the real provider: it counts what reaches it, and answers as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Answer = Callable[[str, bytes], tuple[int, str, list[bytes]]]


class Loopback:
    """`url` is its base; `seen` lists the (path, body) that reached it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.host = f"127.0.0.1:{port}"
        self.seen: list[tuple[str, bytes]] = []


def nothing(path: str, body: bytes) -> tuple[int, str, list[bytes]]:
    """What nobody should ever read."""
    return 500, "application/json", [b'{"error": {"message": "the request got past the capture"}}']


@contextmanager
def loopback(answer: Answer = nothing) -> Iterator[Loopback]:
    """Run the server; `answer(path, body)` gives status, content type and the body in pieces."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            made.seen.append((self.path, body))
            status, kind, pieces = answer(self.path, body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(sum(map(len, pieces))))
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        do_GET = do_POST = _serve  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Loopback(server.server_address[1])
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
