"""The README and the start pages: what they show runs, and links lead somewhere."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hushpoll_server.survey_reports.sheets.published_designs import PUBLISHED_DESIGNS
from ports import free_port

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOUR = ("team", "developer", "researcher")
"""Start pages whose blocks are pasted into one terminal, in this order."""
MOST_WORDS = {"README.md": 500, "docs/start": 600}


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def test_the_first_block_is_the_two_commands(readme: str, root: Path) -> None:
    first = FENCE.search(readme)
    assert first is not None
    commands = [line.split("#")[0].strip() for line in first[2].splitlines()]
    assert commands == ["scripts/demo", "scripts/test"]
    for command in commands:
        assert (root / command).stat().st_mode & 0o111, f"{command} is not executable"


def test_blocks_of_the_start_pages_run_as_they_are_pasted(
    root: Path, data_dir: Path, tmp_path: Path
) -> None:
    """One after the other, as a reader pastes them: commands and, where they stand, Python."""
    pages = [(root / "docs" / "start" / f"{name}.md").read_text(encoding="utf-8") for name in TOUR]
    port = str(free_port())
    script = ["set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null' EXIT"]
    for language, body in FENCE.findall("\n".join(pages)):
        if language == "python":
            snippet = tmp_path / f"snippet{len(script)}.py"
            snippet.write_text(body, encoding="utf-8")
            script.append(f"python {snippet.name}")
        elif language == "sh":
            script += body.splitlines()
    # Nothing is installed, no port of others is used and nothing is downloaded.
    pasted = "\n".join(script)
    for shown, run in (
        (". .venv/bin/activate", f"export PATH={Path(sys.executable).parent}:$PATH"),
        ("127.0.0.1:8000", f"127.0.0.1:{port}"),
        ("pip install ./server/lab ", "true "),
        ("hushpoll data adult --out adult.csv", f"cp {data_dir}/adult_26k.csv adult.csv"),
    ):
        assert shown in pasted
        pasted = pasted.replace(shown, run)
    own = {key: value for key, value in os.environ.items() if not key.startswith("HUSHPOLL_")}
    done = subprocess.run(
        ["bash", "-c", pasted],
        cwd=tmp_path,
        env=own | {"HUSHPOLL_PORT": port},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for line in (
        "life-and-health version 1 is published",
        "5000 sent = 5000 accepted + 0 duplicate + 0 rejected + 0 pending",
        "life-and-health version 1, 5,000 reports",
        "5000 records of life-and-health version 1 in survey.records",
    ):
        assert line in done.stdout


def test_readme_and_start_pages_are_short(root: Path) -> None:
    for place, most in MOST_WORDS.items():
        for page in sorted((root / place).glob("*.md")) or [root / place]:
            assert len(page.read_text(encoding="utf-8").split()) <= most, page.name


def test_every_start_page_ends_in_something_done(root: Path) -> None:
    pages = sorted((root / "docs" / "start").glob("*.md"))
    assert len(pages) == 8
    for page in pages:
        last = page.read_text(encoding="utf-8").rstrip().split("\n\n")[-1]
        assert last.startswith("**Done:**") or page.name == "index.md"


@pytest.mark.parametrize(
    ("folder", "spelled"),
    [
        (".", r"'\.\[(\w+)\]'"),
        ("server", r"/server\[(\w+)\]'"),
        ("server/lab", r"/server/lab\[(\w+)\]'"),
    ],
)
def test_every_extra_in_the_table_is_declared(root: Path, folder: str, spelled: str) -> None:
    page = (root / folder / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(page)["project"]
    install = (root / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    table = [line for line in install.splitlines() if "| `pip install" in line]
    named = {found for line in table for found in re.findall(spelled, line)}
    assert named == set(declared["optional-dependencies"]) - {"dev"}
    plain = {".": ".`", "server": ". ./server`", "server/lab": ". ./server ./server/lab`"}[folder]
    assert any(f"pip install {plain}" in line for line in table)


def test_designs_beside_epsilon_have_the_figures_of_their_chances(root: Path) -> None:
    """By each design's P(yes is recorded | yes) and P(yes is recorded | no), exactly."""
    page = (root / "docs" / "start" / "ethics-board.md").read_text(encoding="utf-8")
    designs = {design.name: (design.of_yes, design.of_no) for design in PUBLISHED_DESIGNS}
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    for start, (of_yes, of_no) in designs.items():
        (row,) = [row for row in rows if len(row) == 3 and row[0].casefold().startswith(start)]
        factor = max(of_yes / of_no, (1 - of_no) / (1 - of_yes))
        assert float(row[1]) == round(math.log(factor), 2)
        assert float(row[2]) == round(float(factor), 1)
    ours = [row for row in rows if len(row) == 3 and row[0].startswith("hushpoll, epsilon")]
    assert len(ours) == 3
    for row in ours:
        assert float(row[2]) == round(math.exp(float(row[1])), 1)


@pytest.mark.parametrize("folder", ["server", "server/lab"])
def test_the_extras_of_a_distribution_s_own_page_are_declared(root: Path, folder: str) -> None:
    page = (root / folder / "README.md").read_text(encoding="utf-8")
    declared = tomllib.loads((root / folder / "pyproject.toml").read_text(encoding="utf-8"))
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert named == set(declared["project"]["optional-dependencies"]) - {"dev"}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs"])
def test_links_lead_somewhere(root: Path, page: str) -> None:
    pages = sorted((root / page).rglob("*.md")) if page == "docs" else [root / page]
    for one in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", one.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (one.parent / target).exists(), f"{one.name} links to {target}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs"])
def test_files_of_the_repository_named_on_a_page_exist(root: Path, page: str) -> None:
    pages = sorted((root / page).rglob("*.md")) if page == "docs" else [root / page]
    folders = "tests|scripts|docs|protocols|shared|client|server"
    for path in pages:
        text = path.read_text(encoding="utf-8")
        for name in re.findall(rf"`((?:{folders})/[\w./-]+)", text):
            assert (root / name).exists(), f"{path.name} names {name}"
