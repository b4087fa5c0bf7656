"""Counts the words of the documentation: `scripts/docs-words`, and a test of its upper limit."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(
    r"^(?P<mark>`{3,})(?P<kind>.*)\n(?P<inside>(?:.*\n)*?)(?P=mark)[ ]*$", re.MULTILINE
)
"""A block of code, or a directive, such as the glossary, whose kind stands in braces."""


def words(text: str) -> int:
    """Return how many words stand outside of code blocks; a number or a bar of a table is one."""
    return len(BLOCK.sub(_read, text).split())


def _read(block: re.Match[str]) -> str:
    """Return what a reader reads of a block: nothing of code, which is not counted."""
    return block["inside"] if block["kind"].startswith("{") else ""


def by_folder() -> Counter[str]:
    """Return the words of the pages of each folder, those at the top by their names."""
    counted: Counter[str] = Counter()
    for page in DOCS.rglob("*.md"):
        folder = page.relative_to(DOCS).parts[0]
        counted[folder] += words(page.read_text(encoding="utf-8"))
    return counted


def main() -> None:
    """Print the words of each folder and their sum."""
    counted = by_folder()
    for folder, count in counted.most_common():
        print(f"{count:>8,}  {folder}")
    print(f"{counted.total():>8,}  words in all")


if __name__ == "__main__":
    main()
