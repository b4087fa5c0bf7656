"""A file of measurements, each with what it depends on."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any


def circumstances(command: str, packages: Sequence[str]) -> dict[str, Any]:
    """Return what a measurement depends on, before it begins."""
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "command": " ".join([command, *_arguments()]),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "versions": {name: metadata.version(name) for name in packages},
    }


def keep(path: Path, name: str, document: dict[str, Any]) -> None:
    """Add one measurement to a file, in place of the last of that name."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept[name] = document
    text = json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def _arguments() -> list[str]:
    # A reader who repeats the command has the file in another place.
    words = iter(sys.argv[1:])
    return [word for word in words if word != "--json" or not next(words)]
