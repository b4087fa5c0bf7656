from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import requests
import yaml

from hushpoll_fleet.demo.processes import Server
from hushpoll_fleet.demo.story import (
    SHOWN,
    comparison,
    dashboard_of,
    estimates_table,
    training_table,
)
from hushpoll_fleet.population.population import Population
from hushpoll_shared.samples import demo_manifest
from waiting import LONGEST_SECONDS, wait_until

DEMO = [sys.executable, "-m", "hushpoll_client", "demo"]


def running_in(directory: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(directory):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_the_whole_story(tmp_path):
    began = time.monotonic()
    done = subprocess.run(
        [*DEMO, "--respondents", "600", "--seed", "3", "--json", "--keep", str(tmp_path / "kept")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    account = document["account"]
    assert account["respondents"] == account["accepted"] == 600
    assert list(document["estimates"]) == ["gender", "age", "country", "health"]
    for rows in document["estimates"].values():
        assert sum(one["truth"] for one in rows) == pytest.approx(1)
        for one in rows:
            assert one["covered"] == (one["lower"] <= one["truth"] <= one["upper"])
    # 89.2 of 94 are expected, with a standard deviation of 2.2. The noise is not seeded, and its
    # tail is heavier than a normal one: about one run in 10^9 has fewer than 66.
    covered = [one["covered"] for rows in document["estimates"].values() for one in rows]
    assert len(covered) == 3 + 74 + 11 + 6
    assert sum(covered) >= 66
    assert 0 < document["seconds"] <= time.monotonic() - began
    for command in ("serve", "survey publish", "simulate", "estimate", "export", "train"):
        assert f"$ hushpoll {command} " in done.stderr
    for word in ("without LDP", "with LDP", "accuracy", "DI", "SPD", "EOD", "OAD"):
        assert word in done.stderr
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert {"hushpoll.sqlite", "survey.records", "answers.csv", "panel.csv", "model"} <= kept
    assert running_in(str(tmp_path)) == []


def test_look_gives_a_link_and_a_password_that_open_the_estimates(tmp_path):
    with Server(tmp_path) as server, requests.Session() as session:
        published = session.post(
            f"{server.url}/api/v1/surveys?allow_weak=true",
            json=yaml.safe_load(demo_manifest()),
            headers={"Authorization": f"Bearer {server.token}"},
            timeout=LONGEST_SECONDS,
        )
        assert published.status_code == 201, published.text
        text = dashboard_of(server, tmp_path, published.json()["survey"])
        link = next(word for word in text.split() if word.startswith(server.url))
        _, _, password = text.rpartition("password ")
        form = session.get(link, timeout=LONGEST_SECONDS)
        token = re.search(r'name="form_token" value="([^"]+)"', form.text)[1]
        answer = session.post(
            f"{server.url}/dashboard/sign-in",
            data={
                "form_token": token,
                "name": "demo",
                "password": password,
                "next": link.removeprefix(server.url),
            },
            timeout=LONGEST_SECONDS,
        )
        assert (answer.status_code, answer.url) == (200, link)
        assert "There are no estimates yet" in answer.text


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_demo_leaves_nothing_behind(number, code):
    process = subprocess.Popen(
        DEMO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "hushpoll simulate" in line:
            break
    directory = next(line for line in lines if line.startswith("$ cd ")).split()[2]
    wait_until(lambda: len(running_in(directory)) >= 2, pause=0.05)
    time.sleep(1)
    process.send_signal(number)
    _, err = process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert running_in(directory) == []
    assert not Path(directory).exists()


def test_a_directory_that_holds_something_is_not_used(hushpoll, tmp_path):
    (tmp_path / "precious").write_text("x")
    code, out, err = hushpoll("demo", "--keep", tmp_path)
    assert (code, out) == (1, "")
    assert "is not empty; give a new or an empty directory" in err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_the_survey_of_the_demo_explains_itself(manifest):
    assert SHOWN in {one.name for one in manifest.attributes if one.perturbed}
    assert {one.role for one in manifest.attributes} == {"sensitive", "plain", "target"}
    assert manifest.resolve().layout.record_size == 34
    assert demo_manifest().startswith("# The survey of `hushpoll demo`")


def test_the_samples_target_depends_on_the_protected_attribute(manifest):
    population = Population.from_manifest(manifest)
    joint = population.joint("gender", "income")
    female, male = (row[1] / row.sum() for row in joint[:2])
    assert male - female > 0.2
    # Not through other answers alone: at equal education, hours, age and health the odds differ by
    # e^0.9, as the manifest says.
    logit = manifest.population["income"]["logit"]
    assert logit["effects"]["gender"] == {"Male": 0.9}
    every = population.joint("gender", "age", "health", "education", "hours", "income")
    assert every is None or every.sum() == pytest.approx(1)


def test_tables_show_intervals_and_count_those_that_cover():
    def compared(category, truth, frequency, lower, upper):
        row = {"category": category, "frequency": frequency, "lower": lower, "upper": upper}
        return comparison(row, truth)

    rows = {
        "health": [compared("Good", 0.5, 0.6, 0.4, 0.8), compared("Bad", 0.5, 0.4, 0.1, 0.3)],
        "age": [compared("17", 1.0, 1.0, 0.9, 1.1)],
    }
    text = " ".join(estimates_table("health", rows).split())
    assert "0.400 to 0.800" in text
    assert "1 of 2 intervals cover the truth" in text
    assert "all 2 randomised attributes it is 2 of 3" in text
    text = training_table({"accuracy": 0.75, "DI": {"undefined": "why"}}, {"accuracy": 0.5}, 100)
    assert "tested on 100 people" in text
    assert "0.7500" in text
    assert "undefined" in text
