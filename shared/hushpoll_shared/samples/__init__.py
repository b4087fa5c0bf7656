"""The sample survey that ships with hushpoll, to start one's own from, and that of the demo."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

SAMPLE_FILE: Final = "life-and-health.yaml"
"""Has a question of each kind: a block with a follow-up, a select-all, an amount, a matrix."""

DEMO_FILE: Final = "work-and-health.yaml"
"""What the demo tells of: questions that are each randomised alone, in the paper's setting."""


def sample_manifest() -> str:
    """Return the text of the sample survey: YAML, with comments and a population to simulate."""
    return _text(SAMPLE_FILE)


def demo_manifest() -> str:
    """Return the text of the demo's survey, in the same form."""
    return _text(DEMO_FILE)


def _text(name: str) -> str:
    return files("hushpoll_shared.samples").joinpath(name).read_text(encoding="utf-8")
