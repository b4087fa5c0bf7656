"""The API's document as a file: ``python -m hushpoll_server.openapi_file FILE``.

A running server gives the same at ``/api/v1/openapi.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hushpoll_server import create_app
from hushpoll_server.http.endpoint import EXTENSION
from hushpoll_server.web_application import documented
from hushpoll_shared.spelling.json_values import JsonMembers


def generated() -> JsonMembers:
    """Return the document of an application on a database that is thrown away."""
    with TemporaryDirectory() as directory:
        app = create_app({"DATABASE_URL": f"sqlite:///{directory}/hushpoll.sqlite"})
        try:
            return documented(app)  # type: ignore[arg-type]  # it is flask-openapi3's
        finally:
            app.extensions[EXTENSION].stop()


def as_text(generated_document: JsonMembers) -> str:
    """Return a document as the file has it: sorted and indented, so that changes can be read."""
    return json.dumps(generated_document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(generated()), encoding="utf-8")
