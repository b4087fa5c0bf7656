"""Pages that are made from the code have everything: commands, fields, routes and public names."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from hushpoll_client.cli.commands import COMMANDS
from hushpoll_client.cli.help.examples import all_examples
from hushpoll_server.config.settings import SETTINGS
from hushpoll_server.metrics import Metrics

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

# Only now, since they lie beside the pages.
from directives import (  # noqa: E402
    benchmarks,
    commands,
    javascript,
    manifest_fields,
    methods,
    metrics,
    problems,
    public_names,
    routes,
    settings,
)

ALL = dict(commands.all_commands())


def directives_of(name: str) -> list[str]:
    """The words after every directive of this name, over all pages."""
    pattern = re.compile(rf"^```{{{name}}} (.+)$", re.MULTILINE)
    texts = (path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")))
    return [word for text in texts for words in pattern.findall(text) for word in words.split()]


def test_every_command_stands_on_one_page() -> None:
    assert sorted(directives_of("hushpoll-commands")) == sorted(COMMANDS)


def test_every_command_has_examples() -> None:
    """A new command gets a row in hushpoll_client/cli/help/examples.py."""
    assert all_examples().keys() == ALL.keys()


@pytest.mark.parametrize("name", ALL)
def test_examples_have_the_options_and_arguments_of_the_command(name: str) -> None:
    command = ALL[name]
    options = {
        option: parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for example in all_examples()[name]:
        program, *words = shlex.split(example.partition(" > ")[0])
        own = name.split()
        assert [program, *words[: len(own)]] == ["hushpoll", *own], example
        words = words[len(own) :]
        arguments = 0
        while words:
            word = words.pop(0)
            if word.startswith("-"):
                assert word in options, f"{example}: {word}"
                if not options[word].is_flag:
                    words.pop(0)
            else:
                arguments += 1
        declared = [one for one in command.params if isinstance(one, click.Argument)]
        fewest = sum(one.required for one in declared)
        most = None if any(one.nargs < 0 for one in declared) else len(declared)
        assert arguments >= fewest, example
        assert most is None or arguments <= most, example


@pytest.mark.parametrize("name", ALL)
def test_every_option_has_a_sentence(name: str) -> None:
    page = commands.text(name.partition(" ")[0])
    for parameter in ALL[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert f"{parameter.opts[0]}" in page


def test_every_field_of_the_manifest_is_there() -> None:
    page = manifest_fields.text()
    for _, _, fields in manifest_fields.PARTS:
        for entry in fields:
            assert f"### `{entry.name}`" in page
            assert entry.meaning in page
            assert entry.reason in page


def test_every_operation_of_the_api_is_there() -> None:
    page = routes.text()
    document = json.loads(routes.DOCUMENT.read_text(encoding="utf-8"))
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"### {method.upper()} {path}\n" in page
    for name in document["components"]["schemas"]:
        assert f"### {name}\n" in page


def test_every_benchmark_is_there_and_a_missed_goal_is_said() -> None:
    assert "```{hushpoll-benchmarks}\n" in (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    page = benchmarks.text()
    found = json.loads(benchmarks.FILE.read_text(encoding="utf-8"))
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(found)
    rows = [line for line in page.splitlines() if re.match(r"\| (?!figure \|)", line)]
    figures = [figure for run in found.values() for figure in run["figures"]]
    for row, figure in zip(rows, figures, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == figure["name"]
        assert cells[1] == f"{figure['ours']:.3g} {figure['unit']}"
        assert cells[4] == f"{figure['ratio']:.3g}"
        assert figure["reached"] == (figure["ratio"] >= figure["goal"])
        assert cells[6] == ("reached" if figure["reached"] else "**missed**")


def test_every_experiment_on_trust_is_there_with_the_means_of_its_runs() -> None:
    page = (DOCS / "results" / "trust.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{hushpoll-methods\} (\S+)$", page, re.MULTILINE)
    kept = {file.stem for file in (DOCS / "results").glob("*trust*.csv")}
    assert set(shown) == kept
    assert len(shown) == 5
    rows = methods.text("adult-trust").splitlines()[2:]
    assert rows[0] == ("| NonDP | 10 | 0.8160 ± 0.0035 | 0.3708 ± 0.0051 | 0.2178 ± 0.0141 |")
    assert len(rows) == 25


def test_every_metric_is_there_with_what_the_server_says_of_it() -> None:
    exposed = Metrics().exposition()[0].decode()
    names = set(re.findall(r"^# TYPE (\S+)", exposed, re.MULTILINE))
    assert len(names) >= 13
    rows = metrics.text().splitlines()[2:]
    there = {name for name in names if not name.endswith("_created")}
    assert {row.split("`")[1] for row in rows} == there


def test_every_refusal_is_there() -> None:
    assert problems.text().count("\n| ") >= 30


def test_every_setting_is_on_the_operator_s_page() -> None:
    assert "```{hushpoll-settings}\n" in (DOCS / "operate.md").read_text(encoding="utf-8")
    page = settings.text()
    for setting in SETTINGS.values():
        assert f"| `{setting.name}` |" in page
        assert setting.description in page


@pytest.mark.parametrize("module", directives_of("hushpoll-python"))
def test_every_public_python_name_is_there(module: str) -> None:
    page = public_names.text(module)
    for name in importlib.import_module(module).__all__:
        assert re.search(rf":: {re.escape(module)}\.{name}$", page, re.MULTILINE), name


def test_every_public_javascript_name_is_there() -> None:
    index = (javascript.SOURCES / "index.js").read_text(encoding="utf-8")
    values = " ".join(re.findall(r"export {([^}]*)}", index))
    types = re.findall(r"@typedef {[^}]*} (\w+)", index)
    exported = {*re.findall(r"\b[A-Za-z]+\b", values), *types}
    assert {"SurveyClient", "Options"} <= exported
    page = javascript.text()
    for name in exported:
        assert f"### {name}\n" in page, name
