"""The project's addresses and long description: links to files become absolute, or plain words.

A page of a package index has no files beside it, so a relative link would lead nowhere there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

SETTING = "project-url.txt"
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)")


PICTURE = re.compile(r"!\[([^\[\]]*)\]\((?![a-z]+:)([^)\s]+)\)\n*")


def address(text: str) -> str:
    """Return the address in the setting's file; empty where it is not filled in."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line.rstrip("/") for line in lines if line and not line.startswith("#")), "")


def description(page: str, url: str) -> str:
    """Return a page whose links to files lead to the repository at `url`, or are plain words.

    Pictures are loaded from there, or left out.
    """
    page = PICTURE.sub(rf"![\1]({url}/raw/main/\2)\n\n" if url else "", page)
    return LINK.sub(rf"[\1]({url}/blob/main/\2)" if url else r"\1", page)


class Addresses(MetadataHookInterface):
    """Fills in what depends on the address of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description and the project URLs."""
        here = Path(self.root)
        url = address((here / SETTING).read_text(encoding="utf-8"))
        page = (here / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(page, url)}
        metadata["urls"] = (
            {"Repository": url, "Changelog": f"{url}/blob/main/CHANGELOG.md"} if url else {}
        )
