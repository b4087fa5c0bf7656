"""The digest of the hosted page's scripts in this release, as ``page-digest`` prints it."""

from __future__ import annotations

import json
from pathlib import Path

RECORD = Path(__file__).parents[2] / "client" / "hushpoll_client_js" / "bundle.json"


def text() -> str:
    """Return the digest as a paragraph."""
    digest = json.loads(RECORD.read_bytes())["scripts"]
    return f"The digest of the scripts of this release is `{digest}`."
