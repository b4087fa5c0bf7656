"""A learner and an encoding are added with the two files each that CONTRIBUTING names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

import hushpoll_training
from hushpoll_fleet.demo.processes import Server
from waiting import LONGEST_SECONDS

ADDED = Path(__file__).resolve().parent / "adding"
HUSHPOLL = (sys.executable, "-m", "hushpoll_client")
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


@pytest.fixture
def hushpoll(overlay, monkeypatch):
    """Run a command as a user with the added modules would, and return what it prints."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(overlay), *filter(None, sys.path)]))

    def run(*arguments):
        done = subprocess.run(
            [*HUSHPOLL, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@contextmanager
def working(folder):
    """Run a worker of the server in a folder."""
    database = ("--database-url", "sqlite:///hushpoll.sqlite")
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(
            [*HUSHPOLL, "worker", *database],
            cwd=folder,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(LONGEST_SECONDS)


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
    hushpoll, files, monkeypatch, tmp_path
):
    manifest, rows, _ = files
    folder = tmp_path / "server"
    folder.mkdir()
    with Server(folder, options=("--no-worker",)) as server, working(folder):
        monkeypatch.setenv("HUSHPOLL_URL", server.url)
        monkeypatch.setenv("HUSHPOLL_TOKEN", server.token)
        hushpoll("survey", "publish", manifest, "--allow-weak")
        hushpoll("simulate", "--manifest", manifest, "--data", rows, "--bulk")
        settings = ("learner=logistic", "encoding=halves", 'parameters={"C": 0.5}')
        chosen = [part for setting in settings for part in ("--set", setting)]
        hushpoll("job", "start", "train", "small", *chosen, "--out", tmp_path / "model.zip")
        audited = hushpoll("fairness", "survey", "small", *CHOSEN, "--folds", 2, "--json")
    assert "weights.json" in zipfile.ZipFile(tmp_path / "model.zip").namelist()
    report = json.loads(audited)
    assert (report["learner"], report["encoding"]) == ("logistic", "halves")
    assert report["parameters"] == {"C": 0.5}
