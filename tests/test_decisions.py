"""Every decision has its context, the decision, its consequence, and what would change our mind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "decisions"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
PARTS = ["Context", "Decision", "Consequence", "What would change our mind"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_entry_has_four_parts(page: Path) -> None:
    _, *entries = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert entries
    for entry in entries:
        title, _, body = entry.partition("\n")
        assert re.findall(r"\*\*([A-Z][^*]+)[.:]\*\*\s+\S", body) == PARTS, title


def test_index_names_every_page() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\S+\.md)\)", index)) == [path.name for path in PAGES]
