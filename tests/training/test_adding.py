"""A learner and an encoding are added with the two files each that CONTRIBUTING names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hushpoll_training
from hushpoll_fleet.demo.processes import Server

ADDED = Path(__file__).resolve().parent / "adding"
# Each command in an interpreter of its own would load the same libraries again.
COMMANDS = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from hushpoll_client.cli.commandline import main
answers = sys.stdout
for line in sys.stdin:
    order = json.loads(line)
    os.environ.update(order["environment"])
    output, errors = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            main(order["arguments"])
    except SystemExit as ended:
        told = [ended.code, output.getvalue(), errors.getvalue()]
        print(json.dumps(told), file=answers, flush=True)
"""
CHOSEN = ("--learner", "logistic", "--encoding", "halves", "--params", "C=0.5")


@pytest.fixture(scope="module")
def overlay(tmp_path_factory):
    """A folder with the package, a module more in two rooms, and a line more in two tables."""
    folder = tmp_path_factory.mktemp("overlay")
    package = folder / "hushpoll_training"
    shutil.copytree(Path(hushpoll_training.__file__).parent, package)  # with what is compiled
    learners = "BUILT_IN: Final[Mapping[str, type[Learner]]] = {\n"
    encodings = "ENCODINGS: Final[Mapping[str, type[Encoding]]] = {\n"
    for room, name, kind, listed, table in (
        ("learners", "logistic", "Logistic", "learner_registry.py", learners),
        ("encodings", "halves", "Halves", "encodings/registry.py", encodings),
    ):
        shutil.copy(ADDED / f"{name}.py", package / room / f"{name}.py")
        registry = package / listed
        text = registry.read_text(encoding="utf-8")
        assert text.count(table) == 1
        text = text.replace(table, f'{table}    "{name}": {kind},\n')
        module = f"from hushpoll_training.{room}.{name} import {kind}\n"
        last_import = text.rindex("from hushpoll_training.")
        registry.write_text(text[:last_import] + module + text[last_import:], encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def interpreter(overlay, tmp_path_factory):
    """An interpreter that has the added modules, and runs one command after the other."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(overlay), *filter(None, sys.path)])
    }
    with (
        (tmp_path_factory.mktemp("interpreter") / "errors").open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", COMMANDS],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        yield process
        process.stdin.close()


@pytest.fixture
def hushpoll(interpreter):
    """Run a command as a user with the added modules would, and return what it prints."""

    def run(*arguments, **environment):
        order = {"arguments": [*map(str, arguments)], "environment": environment}
        interpreter.stdin.write(json.dumps(order) + "\n")
        interpreter.stdin.flush()
        code, output, errors = json.loads(interpreter.stdout.readline())
        assert code == 0, errors
        return output

    return run


@pytest.fixture
def files(survey, draft, people, perturbed, write_records, write_rows, tmp_path):
    """The small survey: its manifest, 900 people in clear, and their records."""
    published = survey(epsilon="8", protocol="SS", release="immediate")
    manifest = tmp_path / "survey.json"
    manifest.write_text(json.dumps(draft(epsilon="8", protocol="SS", release="immediate")))
    rows = write_rows(tmp_path / "rows.csv", published, people(900))
    return (
        manifest,
        rows,
        write_records(tmp_path / "all.records", published, perturbed(published, people(900))),
    )


def test_added_learner_and_encoding_are_trained_saved_loaded_and_shown(hushpoll, files, tmp_path):
    _, rows, records = files
    out = tmp_path / "model"
    text = hushpoll("train", "--records", records, "--panel", rows, *CHOSEN, "--out", out)
    assert "central differential privacy" not in text
    run = json.loads((out / "run.json").read_text())
    assert (run["learner"], run["encoding"]) == ("logistic", "halves")
    assert run["parameters"] == {"C": 0.5}
    card = json.loads((out / "card.json").read_text())["model"]
    assert card["learner"] == "logistic regression, for a test"
    assert card["encoding_is"].startswith("one column per category: one half")
    assert card["privacy"]["kind"] == "none"
    assert sorted(path.name for path in out.iterdir()) == [
        *("card.html", "card.json", "model.json", "run.json", "weights.json"),
    ]
    predicted = json.loads(hushpoll("predict", "--model", out, "--data", rows, "--json"))
    assert predicted["rows"] == 900
    audited = json.loads(hushpoll("fairness", "records", records, *CHOSEN, "--folds", 2, "--json"))
    assert (audited["learner"], audited["privacy"]["kind"]) == ("logistic", "none")


def test_added_learner_and_encoding_are_tuned_and_take_part_in_experiments(
    hushpoll, files, tmp_path
):
    manifest, rows, _ = files
    source = ("--data", rows, "--manifest", manifest)
    search = ("--learner", "logistic", "--trials", 2, "--folds", 2, "--out", tmp_path / "tuned")
    tuned = json.loads(hushpoll("tune", *source, *search, "--json"))
    assert list(tuned["params"]) == ["C"]
    grid = ("--epsilons", 4, "--seeds", 0, "--protocols", "GRR", "--splits", "uniform")
    out = tmp_path / "grid"
    hushpoll("experiment", "run", *source, *grid, *CHOSEN, "--jobs", 1, "--out", out)
    settings = json.loads((out / "experiment.json").read_text())["configuration"]
    assert (settings["learner"], settings["encoding"]) == ("logistic", "halves")


def test_added_learner_and_encoding_are_trained_and_audited_by_jobs_of_a_server(
    hushpoll, files, overlay, monkeypatch, tmp_path
):
    manifest, rows, _ = files
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(overlay), *filter(None, sys.path)]))
    with Server(folder) as server:
        there = {"HUSHPOLL_URL": server.url, "HUSHPOLL_TOKEN": server.token}
        hushpoll("survey", "publish", manifest, "--allow-weak", **there)
        hushpoll("simulate", "--manifest", manifest, "--data", rows, "--bulk")
        settings = ("learner=logistic", "encoding=halves", 'parameters={"C": 0.5}')
        chosen = [part for setting in settings for part in ("--set", setting)]
        hushpoll("job", "start", "train", "small", *chosen, "--out", tmp_path / "model.zip")
        audited = hushpoll("fairness", "survey", "small", *CHOSEN, "--folds", 2, "--json")
    assert "weights.json" in zipfile.ZipFile(tmp_path / "model.zip").namelist()
    report = json.loads(audited)
    assert (report["learner"], report["encoding"]) == ("logistic", "halves")
    assert report["parameters"] == {"C": 0.5}
