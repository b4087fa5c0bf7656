"""The real server on loopback for browser tests, with the SDK, the vectors and an empty page.

Prints one line of JSON, the address and an admin token, and stops when its standard input closes.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from werkzeug.middleware.shared_data import SharedDataMiddleware
from werkzeug.serving import make_server

from hushpoll_server import create_asgi
from hushpoll_server.pages import assets
from hushpoll_server.services.maintenance.sealing import Maintenance

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from asgi_client import AsgiClient, LoopThread  # noqa: E402  # beside this folder

FOLDERS = (
    "client/hushpoll_client_js/src",
    "client/hushpoll_client_js/node_modules",
    "tests/client_js",
    "tests/vectors",
)
POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'"


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        if "--modules" in sys.argv:
            # The sources without a bundle beside them, as in a checkout after a change.
            sdk = Path(folder) / "hushpoll_client_js"
            shutil.copytree(ROOT / FOLDERS[0], sdk / "src")
            packaged = assets.scripts
            assets.scripts = lambda _: packaged(sdk)
        app = create_asgi(
            {
                "DATABASE_URL": f"sqlite:///{folder}/hushpoll.sqlite",
                "SEAL_IDLE_SECONDS": 0.2,
                "INVITATION_SEED": "5e" * 32,
            }
        )
        services = app.services
        token = services.access.first_admin() or services.access.issue(["admin"]).token
        maintenance = Maintenance(services.sealing)
        maintenance.start()
        loop = LoopThread()

        name = "Content-Security-Policy"

        def guarded(environ: Any, start_response: Any) -> Any:
            # The SDK must work under a strict policy; the hosted page has its own.
            def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
                own = any(given == name for given, _ in headers)
                extended = headers if own else [*headers, (name, POLICY)]
                return start_response(status, extended, *rest)

            return files(environ, start)

        shared = {f"/{folder}": str(ROOT / folder) for folder in FOLDERS}
        files = SharedDataMiddleware(AsgiClient(app, loop).application, shared, cache=False)
        server = make_server("127.0.0.1", 0, guarded, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(json.dumps({"origin": f"http://127.0.0.1:{server.port}", "token": token}), flush=True)
        sys.stdin.read()
        server.shutdown()
        maintenance.stop()
        loop.run(app.stop())
        loop.stop()
        services.stop()


main()
