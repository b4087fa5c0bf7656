"""The tables of how far a server scales, from the file of what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.scale.page import tables

FILE = Path(__file__).parents[1] / "scale.json"


def text(name: str) -> str:
    """Return one of the tables by its name."""
    return tables(json.loads(FILE.read_text(encoding="utf-8")))[name] + "\n"
