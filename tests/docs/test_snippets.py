"""Python on the pages of protocols and explanations runs, and prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SNIPPET = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?", re.MULTILINE | re.DOTALL
)
PAGES = [
    *sorted((DOCS / "protocols").glob("*.md")),
    *(
        DOCS / "explanation" / f"{name}.md"
        for name in ("local-differential-privacy", "which-epsilon", "which-protocol")
    ),
    DOCS / "how-to" / "add-a-protocol.md",
    DOCS / "how-to" / "audit-fairness.md",
]
SNIPPETS = [
    pytest.param(match["code"], match["output"], id=f"{page.stem}-{number}")
    for page in PAGES
    for number, match in enumerate(SNIPPET.finditer(page.read_text(encoding="utf-8")))
]


def test_every_protocol_has_a_checked_page() -> None:
    stems = {page.stem for page in PAGES}
    assert {"grr", "blh", "olh", "rappor", "oue", "ss", "the"} <= stems
    assert len(SNIPPETS) >= 12


@pytest.mark.parametrize(("code", "output"), SNIPPETS)
def test_snippet_runs(code: str, output: str | None, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if output is not None:
        assert done.stdout == output
