"""The kinds of background jobs, and the scope of the API token that may ask for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SCOPE_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "seal": "publish",
        "export": "read",
        "train": "train",
        "tune": "train",
        "fairness": "train",
        "shape": "read",
        "table": "read",
        "weight": "read",
        "dependencies": "read",
        "regress": "read",
        "report": "read",
        "invite": "publish",
        "remind": "publish",
    }
)

KINDS_WITH_TABLE: Final = (
    "table",
    "weight",
    "dependencies",
    "fairness",
    "shape",
    "regress",
)
"""Their result, JSON, is given as a table too."""
