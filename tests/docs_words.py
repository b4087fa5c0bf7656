"""Counts the words of the documentation: `scripts/docs-words`, and a test of its upper limit."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
CODE = re.compile(r"^(`{3,})(?!\{).*?^\1", re.MULTILINE | re.DOTALL)
"""A block of code; a directive, such as the glossary, is none."""


def words(text: str) -> int:
    """Return how many words stand outside of code blocks; a number or a bar of a table is one."""
    return len(CODE.sub("", text).split())


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
