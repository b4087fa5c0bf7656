"""The README's snippets run, its commands exist, and its links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hushpoll_shared import Manifest

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SURVEY = {
    "name": "habits",
    "version": 1,
    "title": "Habits",
    "epsilon": "2",
    "split": "uniform",
    "protocol": "GRR",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "smokes", "role": "sensitive", "categories": ["yes", "no"], "missing": "skipped"},
        {"name": "town", "role": "plain", "categories": ["yes", "no"]},
    ],
}


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(text) if found == language]


def test_the_first_block_is_the_two_commands(readme: str, root: Path) -> None:
    first = FENCE.search(readme)
    assert first is not None
    commands = [line.split("#")[0].strip() for line in first[2].splitlines()]
    assert commands == ["scripts/demo", "scripts/test"]
    for command in commands:
        assert (root / command).stat().st_mode & 0o111, f"{command} is not executable"


def test_python_snippets_run(readme: str, tmp_path: Path) -> None:
    published = Manifest.from_dict(SURVEY).resolve()
    (tmp_path / "survey.json").write_bytes(published.canonical)
    snippets = blocks(readme, "python")
    assert len(snippets) == 2
    for snippet in snippets:
        done = subprocess.run(
            [sys.executable, "-c", snippet],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_every_command_and_option_shown_exists(readme: str) -> None:
    shown = [
        shlex.split(line[2:])
        for block in blocks(readme, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    assert shown
    for name, *arguments in shown:
        if name == "export":
            assert all(word.startswith(("HUSHPOLL_", "admin-token)")) for word in arguments)
            continue
        assert name == "hushpoll"
        words = [word for word in arguments if not word.startswith(("-", "&"))]
        command = words[:2] if words[0] in {"survey", "experiment"} else words[:1]
        done = subprocess.run(
            [sys.executable, "-m", "hushpoll_client", *command, "--help"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for option in arguments:
            if option.startswith("--"):
                assert option in done.stdout, f"{option} is no option of {' '.join(command)}"


@pytest.mark.parametrize("folder", [".", "server"])
def test_every_extra_in_the_table_is_declared(readme: str, root: Path, folder: str) -> None:
    page = (root / folder / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(page)["project"]
    table = [line for line in readme.splitlines() if "| `pip install" in line]
    named = {found for line in table for found in re.findall(rf"{declared['name']}\[(\w+)\]", line)}
    assert named == set(declared["optional-dependencies"]) - {"dev"}
    assert any(f"pip install {declared['name']}`" in line for line in table)


def test_the_extras_of_the_server_s_own_page_are_declared(root: Path) -> None:
    page = (root / "server" / "README.md").read_text(encoding="utf-8")
    declared = tomllib.loads((root / "server" / "pyproject.toml").read_text(encoding="utf-8"))
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


def test_the_benchmarks_quoted_are_those_of_scripts_bench(root: Path) -> None:
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    found = json.loads((root / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert titles == list(found)
    rows = [line for line in page.splitlines() if re.match(r"\| (?!figure \|)", line)]
    figures = [figure for run in found.values() for figure in run["figures"]]
    for row, figure in zip(rows, figures, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == figure["name"]
        assert cells[1] == f"{figure['ours']:.3g} {figure['unit']}"
        assert cells[4] == f"{figure['ratio']:.3g}"
        # A goal that was missed is quoted as missed.
        assert figure["reached"] == (figure["ratio"] >= figure["goal"])
        assert cells[6] == ("reached" if figure["reached"] else "**missed**")
