"""Python on the pages of protocols runs, and a page's output is what its snippet prints."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from hushpoll_protocols import PROTOCOLS

DOCS = Path(__file__).parents[2] / "docs"
SNIPPET = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?", re.MULTILINE | re.DOTALL
)
# tests/test_page_snippets.py runs the explanations too, and does not look at what they print.
PAGES = [
    *sorted((DOCS / "protocols").glob("*.md")),
    *(
        DOCS / "explanation" / f"{name}.md"
        for name in ("which-epsilon", "which-protocol", "questions-together")
    ),
    DOCS / "how-to" / "regress.md",
]
SNIPPETS = [
    pytest.param(match["code"], match["output"], id=f"{page.stem}-{number}")
    for page in PAGES
    for number, match in enumerate(SNIPPET.finditer(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_a_page_with_a_checked_law(name: str) -> None:
    text = (DOCS / "protocols" / f"{name.lower()}.md").read_text(encoding="utf-8")
    assert f"```{{hushpoll-protocol}} {name}\n" in text
    assert SNIPPET.search(text)


@pytest.mark.parametrize(("code", "output"), SNIPPETS)
def test_snippet_runs_and_prints_what_the_page_says(code: str, output: str | None) -> None:
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "snippet", "exec"), {"__name__": "__main__"})
    if output is not None:
        assert printed.getvalue() == output
