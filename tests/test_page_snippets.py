"""Every Python snippet of the explanations and of the how-to guides runs as a reader pastes it.

The snippets of a page run one after the other, as one program. Pages whose snippets need more, such
as a server, have a test of their own, which is named here. A snippet that no test can run has
before it ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"```(?P<language>\w*)(?:\{[^\n]*)?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
ELSEWHERE = {
    "docs/explanation/mitigation.md": "tests/training/mitigation/test_page.py",
    "docs/how-to/embed-the-client.md": "tests/client/test_embedding_page.py",
    "docs/how-to/rerun-private-parity.md": "tests/dpsgd/test_methods.py",
    "docs/how-to/spss-stata-r.md": "tests/analysis/frames/test_other_programs.py",
    "docs/how-to/train.md": "tests/training/test_how_to_train.py",
}
"""Pages whose snippets another test runs."""


def snippets(page: Path) -> list[str]:
    """The Python blocks of a page that are run, in their order."""
    return [
        block["body"]
        for block in FENCE.finditer(page.read_text(encoding="utf-8"))
        if block["language"] == "python" and block["reason"] is None
    ]


PAGES = {
    page.relative_to(ROOT).as_posix(): snippets(page)
    for folder in ("explanation", "how-to")
    for page in sorted((ROOT / "docs" / folder).rglob("*.md"))
}
HERE = [name for name, blocks in PAGES.items() if blocks and name not in ELSEWHERE]


@pytest.mark.parametrize("name", HERE)
def test_snippets_of_the_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = compile("\n".join(PAGES[name]), name, "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(program, {"__name__": "__main__"})


@pytest.mark.parametrize(("name", "test"), ELSEWHERE.items())
def test_page_that_is_run_elsewhere_is_named_there(name: str, test: str) -> None:
    assert PAGES[name], f"{name} has no snippet: take it off the list"
    assert Path(name).name in (ROOT / test).read_text(encoding="utf-8")


def test_no_block_of_python_escapes_by_its_spelling() -> None:
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        fences = re.findall(
            r"^[ \t]*[`~]{3,}[ \t]*(?:\{code[^}]*\}[ \t]*)?py\w*", text, re.MULTILINE
        )
        found = sum(block["language"] == "python" for block in FENCE.finditer(text))
        assert len(fences) == found, f"{name}: write a snippet as ```python at the line's beginning"
