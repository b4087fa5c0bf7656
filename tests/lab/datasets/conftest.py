"""A server on this machine that gives raw files, whole or broken."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest


class _Files(BaseHTTPRequestHandler):
    files: dict[str, bytes]

    def do_GET(self):
        name = self.path.lstrip("/")
        if name == "broken":
            self.send_error(503)
            return
        if name not in self.files and not name.startswith("half-"):
            self.send_error(404)
            return
        whole = self.files[name.removeprefix("half-")]
        self.send_response(200)
        self.send_header("Content-Length", str(len(whole)))
        self.end_headers()
        self.wfile.write(whole[: len(whole) // 2] if name.startswith("half-") else whole)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """Serve files by name, and return the address; ``half-NAME`` stops half-way."""
    servers = []

    def start(**files):
        handler = type("Files", (_Files,), {"files": files})
        server = HTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
