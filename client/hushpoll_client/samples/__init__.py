"""The sample survey that ships with hushpoll, to start one's own from."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

SAMPLE_FILE: Final = "work-and-health.yaml"


def sample_manifest() -> str:
    """Return the text of the sample survey: YAML, with comments and a population to simulate."""
    return files("hushpoll_client.samples").joinpath(SAMPLE_FILE).read_text(encoding="utf-8")
