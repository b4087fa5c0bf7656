"""Fleets that arrive over time and misbehave, against the real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from importlib import resources
from io import BytesIO

import pytest

from decoded import clear_answers, part_of
from hushpoll_shared.wire.records_file import read_records
from waiting import LONGEST_SECONDS

SHARES = {
    "replay": 0.1,
    "wrong-version": 0.05,
    "offline": 0.1,
    "poison-maximal": 0.1,
    "poison-random": 0.05,
}
MISBEHAVING = [
    word for name, share in SHARES.items() for word in ("--misbehave", f"{name}={share}")
]


@pytest.fixture
def published(analyst, draft) -> dict:
    return analyst.publish(draft)


def records_of(analyst, name: str) -> list[bytes]:
    stream = BytesIO()
    analyst.export(name, 1, stream.write)
    return sorted(map(bytes, read_records(stream.getvalue())[1]))


@pytest.mark.parametrize("bulk", [[], ["--bulk"]])
def test_every_share_is_in_the_account_and_the_server_agrees(
    hushpoll, analyst, published, manifest_file, bulk
):
    code, out, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 200, "--seed", 6, "--json",
        "--offline-seconds", 0.3, *MISBEHAVING, *bulk,
    )  # fmt: skip
    account = json.loads(out)
    assert code == 0, (out, err)
    assert account["server"].pop("differences") == []
    assert account["server"] == {
        "accepted": 190,
        "duplicate": 20,
        "rejected_by_code": {},
        "reconciles": True,
    }
    assert {
        key: account[key]
        for key in ("sent", "accepted", "duplicate", "rejected_by_code", "replays", "misversioned",
                    "poisoned", "pending", "unsent")
    } == {
        "sent": 220,
        "accepted": 190,
        "duplicate": 20,
        "rejected_by_code": {"unknown-digest": 10},
        "replays": 20,
        "misversioned": 10,
        "poisoned": 30,
        "pending": 0,
        "unsent": 0,
    }  # fmt: skip


def test_poisoners_push_their_target(hushpoll, analyst, published, manifest_file, manifest):
    code, _, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 120, "--seed", 6, "--bulk",
        "--misbehave", "poison-maximal=1", "--target", "gender=Prefer not to say",
    )  # fmt: skip
    assert code == 0
    resolved = manifest.resolve()
    gender = next(one for one in resolved.attributes if one.name == "gender")
    rare = gender.code("Prefer not to say")
    for record in records_of(analyst, published["survey"]):
        assert rare in gender.oracle.support(part_of(resolved.layout, record, "gender"))


def test_arrivals_take_their_time(hushpoll, published, manifest_file):
    code, out, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 20, "--seed", 1, "--json",
        "--arrivals", "poisson", "--duration", 2,
    )  # fmt: skip
    account = json.loads(out)
    assert (code, account["accepted"]) == (0, 20)
    assert account["seconds"] > 1.5


def test_a_function_gives_the_answers(
    hushpoll, analyst, published, manifest_file, manifest, tmp_path, monkeypatch
):
    clear = next(one for one in manifest.attributes if not one.perturbed)
    (tmp_path / "my_people.py").write_text(
        "def answer(number, rng):\n"
        f"    return {{name: rng.choice(domain) for name, domain in DOMAINS.items()}} | "
        f"{{{clear.name!r}: {clear.domain[1]!r}}}\n"
        f"DOMAINS = { ({one.name: one.domain for one in manifest.attributes})!r}\n"
        "def wrong(number, rng):\n    return ['Male']\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["simulate", "--manifest", manifest_file, "--respondents", 110, "--seed", 2]
    code, _, _ = hushpoll(*arguments, "--answers-from", "my_people:answer")
    assert code == 0
    layout = manifest.resolve().layout
    sent = Counter(
        clear_answers(layout, record)[clear.name]
        for record in records_of(analyst, published["survey"])
    )
    assert sent == {clear.domain[1]: 110}
    for target, words in {
        "my_people:wrong": "returned for respondent 0 what is no mapping",
        "my_people:DOMAINS": "which is no function",
        "my_people:nobody": "has no attribute 'nobody'",
        "nothing_here:answer": "No module named 'nothing_here'",
        "my_people": "give MODULE:FUNCTION",
    }.items():
        code, _, err = hushpoll(*arguments, "--answers-from", target)
        assert code == 1
        assert words in err


@pytest.mark.parametrize("mode", [["--bulk"], ["--seeded-noise"]])
def test_a_file_of_reports_is_what_would_have_been_sent(hushpoll, analyst, draft, tmp_path, mode):
    found = []
    for version in (1, 2):
        name = f"{draft['name']}-{version}"
        path = tmp_path / f"{version}.json"
        path.write_text(json.dumps(draft | {"name": name}))
        analyst.publish(draft | {"name": name})
        arguments = ["simulate", "--manifest", path, "--respondents", 130, "--seed", 3, *mode,
                     "--misbehave", "poison-random=0.1"]  # fmt: skip
        if version == 1:
            assert hushpoll(*arguments)[0] == 0
        else:
            file = tmp_path / "reports"
            assert hushpoll(*arguments, "--to-file", file)[0] == 0
            assert analyst.counts(name, 1)["accepted"] == 0
            for accepted, duplicate in ((130, 0), (0, 130)):
                code, out, _ = hushpoll("submit", file, name, "--json")
                account = json.loads(out)
                assert (code, account["accepted"], account["duplicate"]) == (0, accepted, duplicate)
        found.append(records_of(analyst, name))
    assert found[0] == found[1]


def test_a_file_of_reports_is_for_one_version_and_whole(
    hushpoll, analyst, published, manifest_file, draft, tmp_path
):
    file = tmp_path / "reports"
    arguments = ["simulate", "--manifest", manifest_file, "--respondents", 10, "--to-file", file]
    assert hushpoll(*arguments)[0] == 0
    code, _, err = hushpoll(*arguments)
    assert code == 1
    assert f"{str(file)!r} exists already, and is not overwritten; give another one" in err
    other = f"{draft['name']}-other"
    analyst.publish(draft | {"name": other})
    code, _, err = hushpoll("submit", file, other)
    assert code == 1
    assert "has reports for the digest" in err
    file.write_bytes(file.read_bytes()[:-1])
    code, _, err = hushpoll("submit", file, draft["name"])
    assert code == 1
    assert "it was cut off" in err
    file.write_bytes(b"something else")
    code, _, err = hushpoll("submit", file, draft["name"])
    assert code == 1
    assert "is no file of reports; give one that hushpoll simulate --to-file has" in err
    code, _, err = hushpoll(*arguments[:-1], tmp_path / "more", "--misbehave", "replay=0.5")
    assert code == 1
    assert "which only a server sees" in err


@pytest.mark.parametrize("mode", [["--bulk"], ["--seeded-noise"]])
def test_a_cluster_sends_what_one_machine_would(hushpoll, analyst, draft, tmp_path, mode):
    from distributed import LocalCluster

    found = []
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        for spread in ([], ["--dask", cluster.scheduler_address]):
            name = f"{draft['name']}-{len(spread)}"
            path = tmp_path / f"{len(spread)}.json"
            path.write_text(json.dumps(draft | {"name": name}))
            analyst.publish(draft | {"name": name})
            code, out, err = hushpoll(
                "simulate", "--manifest", path, "--respondents", 150, "--seed", 3, "--json", *mode,
                "--misbehave", "poison-random=0.1", "--misbehave", "replay=0.1", *spread,
            )  # fmt: skip
            assert code == 0, err
            account = json.loads(out)
            assert (account["accepted"], account["replays"]) == (150, 15)
            assert account["server"]["reconciles"]
            found.append(records_of(analyst, name))
    assert found[0] == found[1]


def test_a_cluster_that_is_not_there_is_named(hushpoll, published, manifest_file, monkeypatch):
    monkeypatch.setattr("hushpoll_fleet.sending.cluster._CONNECT_SECONDS", 1)
    code, _, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 5, "--dask", "tcp://127.0.0.1:9"
    )
    assert code == 1
    assert "--dask is 'tcp://127.0.0.1:9', where no scheduler answers" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--arrivals", "daily"], "needs --duration"),
        (["--duration", "5"], "--duration needs --arrivals"),
        (["--arrivals", "daily", "--duration", "5", "--bulk"], "a batch arrives at once"),
        (["--arrivals", "weekly"], "'weekly' is not one of"),
        (["--to-file", "x", "--dask", "tcp://127.0.0.1:9"], "--to-file sends nothing"),
    ],
)
def test_options_that_do_not_go_together(hushpoll, manifest_file, arguments, words):
    code, _, err = hushpoll("simulate", "--manifest", manifest_file, *arguments)
    assert code == 2
    assert words in err


def test_locust_puts_load_that_is_counted(real_server, analyst, published):
    with resources.as_file(resources.files("hushpoll_fleet") / "sending" / "locustfile.py") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "locust", "--locustfile", str(file), "--headless",
             "--users", "4", "--spawn-rate", "4", "--host", real_server.url, "--json"],
            env={**os.environ, "HUSHPOLL_SURVEY": published["survey"]},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + LONGEST_SECONDS
        # A user's next request comes after its last one was counted: four users, one is counted.
        while analyst.counts(published["survey"], 1)["accepted"] <= 4:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.terminate()
        out, err = process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == 0, err[-2000:]
    posts = next(one for one in json.loads(out) if one["method"] == "POST")
    requests, failures = posts["num_requests"], posts["num_failures"]
    assert requests > 0
    assert failures == 0
    # A request that was under way when the time was up is stored, and not in Locust's statistics.
    assert requests <= analyst.counts(published["survey"], 1)["accepted"] <= requests + 4
