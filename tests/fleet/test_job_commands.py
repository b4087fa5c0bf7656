"""``hushpoll job``, and what is made of jobs, against a real server and a real worker.

The worker forks a process for each job (`lent_processes`), and starts none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_fleet.demo.processes import Server
from waiting import LONGEST_SECONDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def real_server(folder):
    """A server of this module's own."""
    with Server(folder, options=("--no-worker",)) as server:
        yield server


WORKER = """
from hushpoll_server.cli.worker import worker
from lent_processes import JobProcesses
with JobProcesses().lent():
    worker()
"""
TESTS = Path(__file__).parents[1]


@contextmanager
def running_worker(folder):
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, "--database-url", "sqlite:///hushpoll.sqlite"],
            cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(TESTS)},
        )  # fmt: skip
        try:
            yield
        finally:
            process.terminate()
            process.wait(LONGEST_SECONDS)


@pytest.fixture(scope="module")
def worker(real_server, folder):
    with running_worker(folder):
        yield


@pytest.fixture
def survey(hushpoll, analyst, draft, manifest_file):
    analyst.publish(draft)
    code, _, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 300, "--seed", 1, "--bulk"
    )
    assert code == 0
    return draft["name"]


def test_estimates_are_shown_where_no_worker_tests_the_shape(hushpoll, survey):
    """Before any worker of this module runs."""
    code, out, err = hushpoll("estimate", survey, "--check-shape", "--timeout", 1, "--json")
    assert code == 1
    answer = json.loads(out)
    assert answer["n"] == 300
    assert "shape" not in answer
    assert "the estimates are shown in any case" in err
    assert "no worker runs, so jobs wait" in " ".join(err.split())


def test_estimates_are_printed_before_the_shape_is_waited_for(survey, real_server):
    """Guards: the estimates came after the wait. Before any worker of this module runs."""
    done = subprocess.run(
        [sys.executable, "-m", "hushpoll_client", "estimate", survey, "--check-shape",
         "--timeout", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"HUSHPOLL_URL": real_server.url, "HUSHPOLL_TOKEN": real_server.token},
    )  # fmt: skip
    assert done.returncode == 1
    assert f"{survey} version 1, 300 reports\n" in done.stdout
    assert done.stdout.index("Each interval") < done.stdout.index("A worker of the server tests")


def test_a_job_that_nobody_takes_says_how_to_go_on(hushpoll, survey):
    code, out, err = hushpoll("job", "start", "seal", survey, "--timeout", 1)
    assert (code, out) == (1, "")
    assert "is queued after 1 s; it goes on: see hushpoll job show" in err
    assert "no worker runs, so jobs wait" in " ".join(err.split())
    job_id = err.partition("Error: job ")[2].split()[0]
    code, out, _ = hushpoll("job", "show", job_id, "--json")
    assert (code, json.loads(out)["state"]) == (0, "queued")
    code, out, _ = hushpoll("job", "list", "--survey", survey, "--state", "queued")
    assert (code, out.count("\n"), f"job {job_id}: seal of" in out) == (0, 1, True)
    code, out, _ = hushpoll("job", "list", "--survey", survey, "--kind", "export", "--json")
    assert (code, json.loads(out)) == (0, {"jobs": []})
    code, out, _ = hushpoll("job", "cancel", job_id)
    assert (code, out.endswith(" is cancelled\n")) == (0, True)
    code, _, said = hushpoll("job", "wait", job_id)
    assert (code, "was cancelled" in said) == (1, True)
    code, out, err = hushpoll("job", "result", job_id, "--out", "never")
    assert (code, "was cancelled" in err) == (1, True)


def test_joint_table_is_made_by_a_worker(hushpoll, survey, worker):
    code, out, err = hushpoll("relate", "table", survey, "gender", "education", "income")
    assert code == 0, err
    assert "likelihood" in out
    assert "have no interval" in " ".join(out.split())
    code, out, _ = hushpoll(
        "relate", "table", survey, "gender", "income", "--no-likelihood", "--json"
    )
    assert (code, len(json.loads(out)["cells"])) == (0, 6)


def test_weighted_shares_of_several_are_made_by_a_worker(hushpoll, survey, draft, worker, tmp_path):
    (categories,) = (one["categories"] for one in draft["attributes"] if one["name"] == "education")
    table = tmp_path / "weights.csv"
    table.write_text("education,weight\n" + "".join(f"{one},2\n" for one in categories))
    asked = ("weight", survey, "gender", "--cell-weights", table)
    code, out, err = hushpoll(*asked, "--job", "--json")
    assert code == 0, err
    (of_job,) = json.loads(out)["attributes"]
    code, out, _ = hushpoll(*asked, "--json")
    at_once = json.loads(out)
    assert [row["value"] for row in of_job["shares"]] == pytest.approx(
        [row["value"] for row in at_once["shares"]]
    )
    out_file = tmp_path / "both.csv"
    code, out, err = hushpoll("weight", survey, "gender", "income", "--out", out_file)
    assert code == 0, err
    assert out.count("are worth 300 of one weight") == 2
    assert out_file.read_text().startswith('"verdict","attribute","category","value"')


def test_an_export_is_made_and_fetched(hushpoll, survey, worker, tmp_path):
    out = tmp_path / "records.csv"
    code, said, err = hushpoll(
        "job", "start", "export", survey, "--set", "format=csv", "--set", "content=indicators",
        "--out", out,
    )  # fmt: skip
    assert code == 0, err
    assert f"is done; its result is in {out}" in said
    header, *rows = out.read_text().splitlines()
    assert "gender" in header
    assert len(rows) == 300
    again = tmp_path / "again.csv"
    code, _, _ = hushpoll("job", "wait", said.split()[1].rstrip(":"), "--out", again)
    assert code == 0
    assert again.read_bytes() == out.read_bytes()


def test_jobs_of_a_survey_that_is_not_there_end_the_list_with_an_error(hushpoll, survey):
    assert hushpoll("job", "list", "--survey", survey)[0] == 0
    code, said, err = hushpoll("job", "list", "--survey", "nope")
    assert (code, said) == (1, "")
    assert "nope" in err


def test_a_model_is_trained_by_the_worker(hushpoll, survey, worker, tmp_path):
    out = tmp_path / "model.zip"
    parameters = json.dumps({"n_estimators": 3})
    code, _, err = hushpoll(
        "job", "start", "train", survey, "--set", f"parameters={parameters}", "--out", out
    )
    assert code == 0, err
    assert "model.json" in zipfile.ZipFile(out).namelist()
    code, said, _ = hushpoll("model", "list", survey)
    model_id, line = said.split()[0], said.splitlines()[1]
    assert (code, "parameters (n_estimators 3)" in line) == (0, True)
    assert "{" not in said
    code, said, _ = hushpoll("model", "show", model_id)
    assert (code, "What is protected, and from whom:" in said) == (0, True)
    code, said, _ = hushpoll("model", "learners", survey)
    assert (code, "lightgbm-parity: cannot run here: " in said) == (0, True)
    again = tmp_path / "again.zip"
    code, _, _ = hushpoll("model", "fetch", model_id, "--out", again)
    assert (code, again.read_bytes()) == (0, out.read_bytes())
    code, said, _ = hushpoll("model", "delete", model_id, "--yes")
    assert (code, said) == (0, f"model {model_id} is deleted\n")
    code, said, _ = hushpoll("model", "list", survey)
    assert (code, said) == (0, f"{survey} has no model.\n")


def test_fairness_of_a_survey_is_estimated_by_its_server(hushpoll, survey, worker, tmp_path):
    out = tmp_path / "fairness.json"
    options = ("--params", "n_estimators=4", "--folds", 2, "--seed", 3)
    code, said, err = hushpoll("fairness", "survey", survey, *options, "--out", out)
    assert code == 0, err
    assert f"{survey} version 1, 300 records" in said
    assert "SPD = P1-P0," in said
    assert f"The result is in {out}." in said
    found = json.loads(out.read_text())
    assert (found["folds"], found["seed"], found["parameters"]["n_estimators"]) == (2, 3, 4)
    code, said, _ = hushpoll("fairness", "survey", survey, *options, "--json")
    assert (code, json.loads(said)) == (0, found)
    kept_until_deleted(hushpoll, "fairness", "audit", survey, "beside", 2)


def test_a_regression_is_kept_until_it_is_deleted(hushpoll, survey, worker):
    code, _, err = hushpoll("regress", "survey", survey, "--formula", "income ~ gender", "--json")
    assert code == 0, err
    kept_until_deleted(hushpoll, "regress", "regression", survey, "income ~ gender", 1)


def kept_until_deleted(hushpoll, group, noun, survey, words, number):
    """Each is listed with what it found, and gone once it is deleted."""
    code, listed, _ = hushpoll(group, "list", survey)
    ids = [line.split()[0] for line in listed.splitlines() if not line.startswith(" ")]
    assert (code, len(ids)) == (0, number)
    assert words in listed
    for one in ids:
        code, said, _ = hushpoll(group, "delete", one, "--yes")
        assert (code, said) == (0, f"{noun} {one} is deleted\n")
    code, said, _ = hushpoll(group, "list", survey)
    assert (code, said) == (0, f"{survey} has no {noun}.\n")


def test_groups_of_a_survey_are_compared(hushpoll, survey, worker):
    code, said, err = hushpoll(
        "fairness", "survey", survey, "--groups", "country", "--reference", "Norway", "--folds", 2,
        "--params", "n_estimators=2", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(said)["protected"]["reference"] == ["Norway"]
    assert "Norway" not in [one["group"] for one in json.loads(said)["groups"]]


def test_what_fairness_cannot_do_is_told(hushpoll, analyst, draft, survey, worker, monkeypatch):
    for arguments, code, words in (
        (["--reference", "Norway"], 2, "--reference needs --groups"),
        (["--groups", "nothing"], 1, "nothing"),
        (["--params", "n_trees=3"], 1, "n_trees"),
        (["--out", "nowhere/report.json"], 1, "no directory"),
        (["--timeout", 0], 1, "it goes on: see hushpoll job show"),
    ):
        found, out, err = hushpoll("fairness", "survey", survey, *arguments)
        assert (found, out) == (code, "")
        assert words in err
    analyst.publish(draft | {"name": f"{survey}-empty"})
    code, _, err = hushpoll("fairness", "survey", f"{survey}-empty")
    assert code == 1
    assert "fewer than its minimum batch" in err
    monkeypatch.setenv("HUSHPOLL_TOKEN", analyst.issue_token(["read"])["token"])
    code, _, err = hushpoll("fairness", "survey", survey)
    assert code == 1
    assert "train" in err


@pytest.mark.parametrize("poisoners", [0, 0.2])
def test_a_fleet_s_poisoners_are_flagged_and_its_honest_respondents_are_not(
    hushpoll, analyst, draft, worker, tmp_path, poisoners
):
    name = f"{draft['name']}-shape"
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(draft | {"name": name, "protocol": "OUE"}))
    analyst.publish(draft | {"name": name, "protocol": "OUE"})
    fleet = ["--misbehave", f"poison-maximal={poisoners}"] if poisoners else []
    code, _, err = hushpoll(
        "simulate", "--manifest", path, "--respondents", 600, "--seed", 2, "--bulk", *fleet
    )
    assert code == 0, err
    code, said, err = hushpoll("estimate", name, "--check-shape", "--json")
    assert code == 0, err
    shape = json.loads(said)["shape"]
    assert shape["flagged"] is bool(poisoners)
    assert shape["n"] == json.loads(said)["n"] == 600
    code, said, _ = hushpoll("estimate", name, "--check-shape")
    assert code == 0
    assert said.count("FLAGGED" if poisoners else "like those of devices") == 1
    assert said.count(f"{name} version 1, 600 reports") == 1


def test_sealing_says_that_nothing_was_sealed(hushpoll, survey, worker):
    """Guards: the job was said to be done, whether it had sealed anything or not."""
    assert hushpoll("job", "start", "seal", survey)[0] == 0
    code, out, _ = hushpoll("job", "start", "seal", survey)
    assert code == 0
    assert out.endswith(" is done; no report was sealed, because none waits\n")
    code, out, _ = hushpoll("job", "start", "seal", survey, "--json")
    assert (code, json.loads(out)["sealing"]["moved"]) == (0, 0)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"moved": 1200, "inbox": 0}, "1,200 reports were sealed"),
        ({"moved": 0, "inbox": 7}, "no report was sealed: 7 wait, which are fewer than"),
        ({"moved": None, "inbox": None}, "is not told before they are released"),
    ],
)
def test_sealing_is_told_in_words(monkeypatch, capsys, result, words):
    done = {"id": "a", "kind": "seal", "survey": "x", "version": 1, "state": "done"}
    monkeypatch.setattr(AnalystClient, "start_job", lambda *_: done)
    monkeypatch.setattr(
        AnalystClient,
        "job_result",
        lambda _client, _id, write, **_: write(json.dumps(result).encode()),
    )
    monkeypatch.setenv("HUSHPOLL_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HUSHPOLL_TOKEN", "hp_x_y")
    with pytest.raises(SystemExit) as caught:
        main(["job", "start", "seal", "x", "--version", "1"])
    assert caught.value.code == 0
    assert words in capsys.readouterr().out


def test_a_refusal_is_the_server_s_own(hushpoll, survey, worker):
    code, _, err = hushpoll("job", "start", "export", survey, "--set", "format=xls")
    assert code == 1
    assert "format" in err
    code, _, err = hushpoll("job", "start", "seal", survey, "--out", "nowhere/seal.json")
    assert code == 1
    assert "no directory" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["start", "dance", "work"], 2, "'dance' is not one of"),
        (["start", "seal", "work", "--set", "seed"], 1, "--set is 'seed'; give NAME=VALUE"),
        (["show", "0" * 32], 1, "0" * 32),
        (["show", "nothing"], 1, "job_id"),
    ],
)
def test_what_is_wrong_is_named(hushpoll, arguments, code, words):
    found, _, err = hushpoll("job", *arguments)
    assert found == code
    assert words in err
