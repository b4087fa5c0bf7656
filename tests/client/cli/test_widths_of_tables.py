"""Every table that a command prints fits a terminal of 80 columns, and no cell of it is cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from rich.cells import cell_len

from client.cli.test_tables_of_commands import commands, writes_tables
from hushpoll_client.cli.command_group import hushpoll
from hushpoll_client.cli.commandline import main
from hushpoll_shared.cli import terminal
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header

HOME = "where-do-you-live-and-for-how-many-years"
MOOD = "satisfaction-with-the-work-of-the-council"
LONG = (
    "a category of many short words, which goes on and on until no line can hold all of it",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "東京都の西の郊外にある、とても長い名前の小さな町の駅の近くの静かな住宅地のどこか",
    "a farm 🚜 with cows 🐄, hens 🐔 and a view of the sea 🌊",
)
MANIFEST = {
    "name": "wide",
    "version": 1,
    "title": "Wide",
    "epsilon": "8",
    "protocol": "GRR",
    "attributes": [
        {"name": HOME, "role": "sensitive", "categories": list(LONG[:3]), "missing": LONG[3]},
        {"name": MOOD, "role": "plain", "categories": ["はい、とても満足しています", LONG[0]]},
        {"name": "steps", "role": "plain", "range": [1, 3]},
    ],
}
QUESTIONS = {
    **{name: MANIFEST[name] for name in ("name", "version", "title", "epsilon", "protocol")},
    "attributes": [
        {"name": f"{HOME}-{number}", "role": "sensitive", "range": [1, 2]} for number in range(5)
    ],
}
SCORES = ("--scores", "0:2500,2500:5000,9000")
TYPED = {
    "records all": (),
    "records answered": ("--attribute", HOME),
    "records change": (HOME, "--since", "2.records"),
    "records cross-table": (HOME, MOOD),
    "records estimate": (),
    "records independence": (HOME, MOOD),
    "records means": ("steps", "--given", HOME, "--scores", "steps=0:2500,2500:5000,9000"),
    "records ordered": ("steps", *SCORES, "--given", MOOD, "--reference", LONG[0]),
    "records ordered-change": (
        *("steps", *SCORES, "--since-scores", "1,3,9000", "--since", "2.records"),
    ),
    "records results": (),
    "records regress": ("--formula", f"C(steps) ~ `{HOME}` + `{MOOD}`"),
    "records shares": ("--of", HOME, "--given", MOOD, "--reference", LONG[0]),
    "records table": (HOME, MOOD, "steps"),
    "records together": (),
    "records weight": (HOME, "--design", "design.json"),
    "fairness predictions": ("--groups", "home", "--groups", "home,mood", "--resamples", "0"),
    "plan": ("--n", "5000"),
}
FILES = {"fairness predictions": "predictions.csv", "plan": "questions.json"}
# Their own tests look at the width: most of them need a model, a run or many draws.
ELSEWHERE = {
    "audit",
    "experiment compare",
    "fairness certificate",
    "fairness model",
    "fairness records",
    "fairness survey",
    "regress data",
    "regress survey",
    "results table",  # the text of `records results`
}
# What a server answers is shown as what a file gives.
OF_A_SERVER = ("answered", "cross-table", "estimate", "ordered", "weight")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("widths")
    published = Manifest.from_dict(MANIFEST).resolve()
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        codes = {one.name: rng.integers(0, one.k, 400) for one in published.attributes}
        records = pack_records_header(published, 400) + encode_many(published, codes, rng).tobytes()
        (folder / f"{seed}.records").write_bytes(records)
    shares = {MANIFEST["attributes"][1]["categories"][0]: 0.3, LONG[0]: 0.7}
    design = {"margins": [{"attributes": [MOOD], "shares": shares}], "population": 90_000_000}
    (folder / "design.json").write_text(json.dumps(design))
    (folder / "questions.json").write_text(json.dumps(QUESTIONS))
    homes = [f'"{LONG[row % 4]}",{"mood" if row % 3 else LONG[1]}' for row in range(600)]
    rows = [f"{home},{row % 5 // 3},{row % 7 // 4}" for row, home in enumerate(homes)]
    (folder / "predictions.csv").write_text("\n".join(["home,mood,label,predicted", *rows]))
    return folder


@pytest.fixture
def printed(folder, monkeypatch, capsys) -> Callable[[str], str]:
    monkeypatch.chdir(folder)

    def run(command: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*command.split(), FILES.get(command, "1.records"), *TYPED[command]])
        said = capsys.readouterr()
        assert ended.value.code == 0, said.err
        return said.out

    return run


def figures(text: str) -> list[str]:
    return sorted(re.findall(r"[-+]?\d+\.\d\d+|\d{3,}", text))


def columns(text: str) -> list[str]:
    """Return the text of each column of tables that have lines around them, without blanks."""
    rows = [re.split("[│┃]", line)[1:-1] for line in text.split("\n") if line[:1] in ("│", "┃")]
    width = max((len(row) for row in rows), default=0)
    return ["".join("".join(row[place : place + 1]) for row in rows) for place in range(width)]


@pytest.mark.parametrize("command", TYPED)
def test_table_fits_80_columns_and_has_all_of_its_figures_and_labels(printed, monkeypatch, command):
    """Guards: tables were up to 100 columns wide, and a terminal broke their lines."""
    text = printed(command)
    assert max(map(cell_len, text.split("\n"))) <= 80
    assert "…" not in text
    monkeypatch.setattr(terminal, "COLUMNS", 10_000)
    endless = printed(command)
    assert figures(text) == figures(endless) != []
    wrapped = ["".join(column.split()) for column in columns(text)]
    for label in LONG:
        if f"│ {label} " in endless:
            assert any("".join(label.split()) in column for column in wrapped), label


def test_each_command_that_prints_a_table_is_looked_at():
    every = {name for name, command in commands(hushpoll) if writes_tables(command)}
    same = {name for name in every if name.startswith("relate ") or name in OF_A_SERVER}
    assert {f"records {name.removeprefix('relate ')}" for name in same} <= TYPED.keys()
    assert every == TYPED.keys() | ELSEWHERE | same
