"""Failures once more, alone: which runs get a second one, what it prints, and the list of tests."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import run_again
from run_again import LIST, NOTES, TITLE, Record

ROOT = Path(__file__).parents[1]
OPTIONS = ["-q", "-p", "no:cacheprovider", "-c", "pytest.ini"]
FLAKY = """
from pathlib import Path
def test_{name}():
    seen = Path("{name}.seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
FAILING = "def test_{name}():\n    assert False\n"
PASSING = "def test_passes():\n    pass\n"


def run(folder, *command):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COV_", "PYTEST_"))
    }
    environment.pop(NOTES, None)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    ended = subprocess.run(
        [sys.executable, run_again.__file__, *command],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


def run_pytest(folder, *modules, more=()):
    """Run these modules; return the status, what was printed, and how many runs there were."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for place, module in enumerate(modules):
        (folder / f"test_{place}.py").write_text(module)
    status, said = run(
        folder, *OPTIONS, "--", *more, *(f"test_{place}.py" for place in range(len(modules)))
    )
    return status, said, len(re.findall(r"\d+ \w+(?:, \d+ \w+)* in [\d.]+s", said))


def test_few_failures_that_pass_alone_are_named_and_the_run_ends_well(tmp_path):
    modules = [PASSING, *(FLAKY.format(name=name) for name in "abc")]
    status, said, runs = run_pytest(tmp_path, *modules, more=["-p", "xdist", "--numprocesses=2"])
    assert (status, runs) == (0, 2), said
    assert "3 failed, 1 passed; the failures once more, alone:" in said
    *_, closing = said.splitlines()
    assert re.fullmatch(r"=*\s*3 passed in [\d.]+s\s*=*", closing)
    listed = said.partition(TITLE)[2]
    for place, name in enumerate("abc", 1):
        assert re.search(
            rf"^\d{{4}}-\d\d-\d\d test_{place}\.py::test_{name}$", listed, re.MULTILINE
        )
    assert "the next landing repairs them" in listed


def test_a_failure_that_fails_again_ends_the_run(tmp_path):
    status, said, runs = run_pytest(tmp_path, FLAKY.format(name="a"), FAILING.format(name="b"))
    assert (status, runs) == (1, 2), said
    assert TITLE not in said
    assert said.splitlines()[-1] == "not passed when run again: test_1.py::test_b"


def test_a_skip_is_no_second_pass(tmp_path):
    skips = FLAKY.format(name="a").replace(
        "assert not first", "import pytest\n    assert not first\n    pytest.skip()"
    )
    status, said, runs = run_pytest(tmp_path, skips)
    assert (status, runs) == (1, 2), said
    assert TITLE not in said


@pytest.mark.parametrize(
    ("modules", "more"),
    [
        ([FAILING.format(name=name) for name in "abcd"], []),
        ([FLAKY.format(name="a"), "import nothing_of_this_name\n"], []),
        (
            [FLAKY.format(name="a"), "import os\ndef test_dies():\n    os._exit(3)\n"],
            ["-p", "xdist", "--numprocesses=1"],
        ),
        ([FLAKY.format(name="a"), "import os\ndef test_dies():\n    os._exit(1)\n"], []),
        ([FLAKY.format(name="a"), PASSING], ["-x"]),
    ],
    ids=["four failures", "no collection", "a worker dies", "pytest dies", "stopped early"],
)
def test_what_is_no_chance_gets_no_second_run(tmp_path, modules, more):
    status, said, runs = run_pytest(tmp_path, *modules, more=more)
    assert status != 0, said
    assert runs <= 1, said
    assert TITLE not in said


def test_a_fault_of_pytest_gets_no_second_run():
    assert Record(1, ["a"], ["b"]).worth_another
    assert not Record(1, ["a"], ["b"], ["pytest itself failed"]).worth_another
    assert not Record(3, ["a"], ["b"]).worth_another
    assert not Record(1, ["a"], []).worth_another  # coverage below its bound, for one
    assert not Record(None).worth_another


def test_a_second_run_repairs_what_failed_and_nothing_less():
    first = Record(1, ["a"], ["b", "c"])
    assert Record(0, ["c", "b"]).repairs(first)
    assert not Record(0, ["b"]).repairs(first)
    assert not Record(5, []).repairs(first)
    assert not Record(0, ["c", "b"], [], ["a process died"]).repairs(first)


JS_FLAKY = """
import { existsSync, writeFileSync } from "node:fs";
import test from "node:test";
test("a", () => {
  const first = !existsSync("seen");
  writeFileSync("seen", "");
  if (first) throw new Error("by chance");
});
"""
JS_PASSING = 'import test from "node:test";\ntest("b", () => {});\n'
JS_FAILING = 'import test from "node:test";\ntest("c", () => { throw new Error("always"); });\n'


@pytest.mark.parametrize(
    ("files", "status", "runs"),
    [
        ({"a": JS_FLAKY, "b": JS_PASSING}, 0, 2),
        ({"a": JS_FLAKY, "c": JS_FAILING}, 1, 2),
        (dict.fromkeys("abcd", JS_FAILING), 1, 1),
    ],
    ids=["passes alone", "fails again", "four files"],
)
def test_files_of_node_are_run_again_as_a_whole(tmp_path, files, status, runs):
    for name, text in files.items():
        (tmp_path / f"{name}.test.mjs").write_text(text)
    ended, said = run(tmp_path, "node", *(f"{name}.test.mjs" for name in files))
    assert (ended, len(re.findall(r"ℹ pass \d", said))) == (status, runs), said
    assert (TITLE in said) == (status == 0)
    if status == 0:
        assert re.search(r"^\d{4}-\d\d-\d\d a\.test\.mjs$", said, re.MULTILINE)


def mistakes(text):
    """What is wrong with the list: each line is a day and a test of this tree, once."""
    names = [line.partition(" ")[2] for line in text.splitlines()]
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = re.fullmatch(
            r"(\d{4}-\d\d-\d\d) (tests/[\w/]+\.(?:py|test\.js))(?:::(\w+(?:::\w+)*)(\[.+\])?)?",
            line,
        )
        if match is None:
            yield f"no day and name: {line}"
            continue
        day, file, name, _ = match.groups()
        try:
            date.fromisoformat(day)
        except ValueError:
            yield f"no day: {line}"
        if not (ROOT / file).is_file():
            yield f"no such file: {line}"
        elif file.endswith(".py") and (name or "").split("::")[-1] not in functions(ROOT / file):
            yield f"no such test: {line}"
        if names.count(line.partition(" ")[2]) > 1:
            yield f"named twice: {line}"


def functions(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_list_names_tests_of_this_tree_each_with_its_day():
    assert list(mistakes(LIST.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tests/test_run_again.py::test_a_skip_is_no_second_pass", "no day and name"),
        ("2026-02-30 tests/test_run_again.py::test_a_skip_is_no_second_pass", "no day"),
        ("2026-02-03 tests/test_nothing.py::test_x", "no such file"),
        ("2026-02-03 tests/test_run_again.py::test_nothing[a b-1]", "no such test"),
        ("2026-02-03 tests/test_run_again.py", "no such test"),
        ("2026-02-03 tests/client_js/nothing.test.js", "no such file"),
    ],
)
def test_a_line_that_names_no_test_is_found(line, words):
    (mistake,) = mistakes(f"# a comment\n{line}\n")
    assert mistake.startswith(words)


def test_a_line_of_a_test_is_taken_once():
    line = "2026-02-03 tests/test_run_again.py::test_a_skip_is_no_second_pass\n"
    browser = "2026-02-03 tests/client_js/size.test.js\n"
    assert list(mistakes(line + browser)) == []
    assert len(list(mistakes(line + line.replace("03", "04")))) == 2
