"""``hushpoll simulate`` against the real server."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import numpy as np
import pytest

from decoded import clear_answers
from hushpoll_client import ClientConfig, randomize
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_fleet.sending import wire
from hushpoll_fleet.sending.account import Account
from hushpoll_fleet.sending.bulk import block_size
from hushpoll_fleet.sending.fleet import Fleet, SeededBits
from hushpoll_fleet.sending.wire import play
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.records_file import read_records
from waiting import LONGEST_SECONDS, wait_until


def records_of(analyst, name: str) -> np.ndarray:
    stream = BytesIO()
    analyst.export(name, 1, stream.write)
    _, records = read_records(stream.getvalue())
    return records


def rows(records: np.ndarray) -> list[bytes]:
    return sorted(map(bytes, records))


@pytest.fixture
def published(analyst, draft) -> dict:
    return analyst.publish(draft)


@pytest.fixture
def people(hushpoll, manifest_file, tmp_path):
    """150 respondents of the sample's population in a file."""
    path = tmp_path / "people.csv"
    code, _, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 150, "--seed", 5, "--dry-run",
        "--write-answers", path,
    )  # fmt: skip
    assert code == 0
    return path


def test_every_row_of_a_file_becomes_a_report(
    hushpoll, analyst, published, manifest_file, manifest, people
):
    code, out, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--data", people, "--json", "--concurrency", 4
    )
    account = json.loads(out)
    assert code == 0
    assert account["respondents"] == account["sent"] == account["accepted"] == 150
    assert analyst.find(published["digest"])["reports"] == 150
    layout = manifest.resolve().layout
    sent = [clear_answers(layout, bytes(row)) for row in records_of(analyst, published["survey"])]
    clear = list(sent[0])
    with people.open(newline="") as stream:
        truth = [{name: row[name] for name in clear} for row in csv.DictReader(stream)]
    assert sorted(map(str, sent)) == sorted(map(str, truth))


def test_a_closed_survey_rejects_them_all_and_the_command_says_so(
    hushpoll, analyst, published, manifest_file
):
    analyst.close(published["survey"], 1)
    code, out, _ = hushpoll("simulate", "--manifest", manifest_file, "--respondents", 5, "--json")
    account = json.loads(out)
    assert code == 1
    assert account["rejected_by_code"] == {"survey-closed": 5}
    assert (account["sent"], account["accepted"], account["unsent"]) == (5, 0, 0)


def test_bulk_and_wire_agree_in_what_is_in_clear(
    hushpoll, analyst, published, manifest_file, manifest, people
):
    code, out, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--data", people, "--bulk", "--seed", 3
    )
    assert code == 0
    assert "150 sent = 150 accepted + 0 duplicate + 0 rejected + 0 pending" in out
    assert "repeatable, not private" in err
    layout = manifest.resolve().layout
    sent = [clear_answers(layout, bytes(row)) for row in records_of(analyst, published["survey"])]
    with people.open(newline="") as stream:
        truth = [{name: row[name] for name in sent[0]} for row in csv.DictReader(stream)]
    assert sorted(map(str, sent)) == sorted(map(str, truth))


@pytest.mark.parametrize("mode", [["--bulk"], ["--seeded-noise"]])
def test_a_seed_makes_records_repeatable(hushpoll, analyst, draft, tmp_path, mode):
    found = []
    for version, seed in enumerate([7, 7, 8], start=1):
        # The name and version are in no record, so equal seeds must give equal records.
        draft["version"] = version
        path = tmp_path / f"v{version}.json"
        path.write_text(json.dumps(draft))
        analyst.publish(draft)
        code, _, err = hushpoll(
            "simulate", "--manifest", path, "--respondents", 120, "--seed", seed, *mode
        )
        assert code == 0, err
        assert "repeatable, not private" in err
        stream = BytesIO()
        analyst.export(draft["name"], version, stream.write)
        found.append(rows(read_records(stream.getvalue())[1]))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_without_seeded_noise_only_the_draw_is_repeatable(
    hushpoll, analyst, published, manifest_file
):
    for _ in range(2):
        code, _, err = hushpoll(
            "simulate", "--manifest", manifest_file, "--respondents", 100, "--seed", 7
        )
        assert (code, "not private" in err) == (0, False)
    records = records_of(analyst, published["survey"])
    assert len(records) == 200
    # 34 bytes of which 30 are noise: the same people never give the same records twice.
    assert len(set(rows(records))) == 200


def test_a_token_survey_gets_a_token_for_each(hushpoll, analyst, draft, tmp_path):
    draft["submission"] = "token"
    path = tmp_path / "token.json"
    path.write_text(json.dumps(draft))
    analyst.publish(draft)
    code, out, _ = hushpoll("simulate", "--manifest", path, "--respondents", 20, "--json")
    assert (code, json.loads(out)["accepted"]) == (0, 20)
    few = tmp_path / "tokens.txt"
    few.write_text("one\ntwo\n")
    code, _, err = hushpoll("simulate", "--manifest", path, "--respondents", 3, "--tokens", few)
    assert code == 1
    assert "has 2 tokens for 3 respondents" in err
    few.write_bytes(b"one\xff")
    code, out, err = hushpoll("simulate", "--manifest", path, "--respondents", 1, "--tokens", few)
    assert (code, out) == (1, "")
    assert err == (
        f"Error: {few} is no UTF-8 text (byte 3 is 0xff); give one token per line, as text in "
        "UTF-8\n"
    )


def test_tokens_for_a_survey_that_takes_none_are_refused(
    hushpoll, published, manifest_file, tmp_path
):
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("one\n")
    code, out, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 1, "--tokens", tokens
    )
    assert (code, out) == (1, "")
    assert f"--tokens is {str(tokens)!r}" in err
    assert "takes no tokens" in err


def test_bad_rows_stop_the_simulation_before_anything_is_sent(
    hushpoll, analyst, published, manifest_file, people, tmp_path
):
    text = people.read_text().splitlines()
    names = text[0].split(",")
    row = text[1].split(",")
    row[names.index("age")] = "12"
    people.write_text("\n".join([*text, ",".join(row)]))
    report = tmp_path / "bad.csv"
    code, out, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--data", people, "--bad-rows", report
    )
    assert (code, out) == (1, "")
    assert "\n  row 151 (line 152), column age: '12'; answer with one of" in err
    with report.open(newline="") as stream:
        (bad,) = csv.DictReader(stream)
    assert (bad["row"], bad["column"], bad["value"]) == ("151", "age", "12")
    assert analyst.find(published["digest"])["reports"] == 0


@pytest.mark.parametrize("bulk", [[], ["--bulk"]])
def test_a_file_without_rows_is_no_simulation(
    hushpoll, published, manifest_file, people, tmp_path, bulk
):
    empty = tmp_path / "empty.csv"
    empty.write_text(people.read_text().splitlines()[0] + "\n")
    code, out, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--data", empty, "--json", *bulk
    )
    assert (code, out) == (1, "")
    message = json.loads(err)["error"]["message"]
    assert message == f"{empty} has a header and no rows; give one row per respondent"


def test_a_server_that_is_not_there_shows_within_seconds(hushpoll, manifest_file):
    code, out, err = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 3, "--url", "http://127.0.0.1:9"
    )
    assert (code, out) == (4, "")
    assert "failed (2 times in" in err


def test_the_truth_is_written_exactly(hushpoll, manifest_file, manifest, people, tmp_path):
    file = tmp_path / "truth.json"
    code, _, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--respondents", 400, "--seed", 2, "--dry-run",
        "--write-truth", file,
    )  # fmt: skip
    assert code == 0
    truth = {one["name"]: one["categories"] for one in json.loads(file.read_text())}
    assert list(truth) == [one.name for one in manifest.attributes]
    gender = {one["category"]: one["population"] for one in truth["gender"]}
    assert gender == pytest.approx({"Female": 0.51, "Male": 0.47, "Prefer not to say": 0.02})
    for categories in truth.values():
        assert sum(one["population"] for one in categories) == pytest.approx(1)
        assert sum(one["drawn"] for one in categories) == pytest.approx(1)
        assert all(one["drawn"] == round(400 * one["drawn"]) / 400 for one in categories)
    code, _, _ = hushpoll(
        "simulate", "--manifest", manifest_file, "--data", people, "--dry-run",
        "--write-truth", file,
    )  # fmt: skip
    assert code == 0
    first = json.loads(file.read_text())[0]["categories"][0]
    assert (first["category"], first["population"]) == ("Female", None)
    assert first["drawn"] == round(150 * first["drawn"]) / 150


def test_an_interrupted_simulation_accounts_for_everybody(
    real_server, analyst, published, manifest_file
):
    command = [sys.executable, "-m", "hushpoll_client", "simulate", "--json", "--manifest"]
    process = subprocess.Popen(
        [*command, str(manifest_file), "--respondents", "50000", "--url", real_server.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: analyst.counts(published["survey"], 1)["accepted"], pause=0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == 130, err
    assert err.strip().endswith("Interrupted.")
    account = json.loads(out)
    assert account["pending"] == 0
    assert account["respondents"] == 50_000 == account["sent"] + account["unsent"]
    assert 0 < account["sent"] == account["accepted"] < 50_000


def test_an_interrupt_while_the_threads_are_started_ends_those_that_run(
    real_server, analyst, published, manifest, monkeypatch
):
    account = Account(3_000)

    class InterruptedPool(ThreadPoolExecutor):
        def submit(self, *work):
            if account.accepted:
                raise KeyboardInterrupt
            first = super().submit(*work)
            wait_until(lambda: account.accepted, pause=0.01)
            return first

    monkeypatch.setattr(wire, "ThreadPoolExecutor", InterruptedPool)
    with pytest.raises(KeyboardInterrupt):
        play(real_server.url, fleet_of(manifest, 3_000), account, concurrency=2)
    assert 0 < account.accepted < 3_000


def test_a_survey_that_is_not_published_is_named(hushpoll, manifest_file, draft):
    code, out, err = hushpoll("simulate", "--manifest", manifest_file, "--respondents", 5)
    assert (code, out) == (1, "")
    assert draft["name"] in err


def test_another_manifest_than_the_published_one_is_refused_with_the_difference(
    hushpoll, published, draft, tmp_path
):
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(draft | {"title": "Another title"}))
    code, _, err = hushpoll("simulate", "--manifest", path, "--respondents", 5)
    assert code == 1
    assert "\n  title: 'Another title' became 'Work and health'\n" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "{people}", "--respondents", "5"], "every row is played"),
        (["--seeded-noise"], "needs --seed"),
        (["--ignore", "age"], "without it they do nothing"),
        (["--bad-rows", "bad.csv"], "without it they do nothing"),
        (["--bulk", "--tokens", "{people}"], "a batch carries none"),
        (["--respondents", "0"], "0 is not in the range"),
        (["--concurrency", "257"], "257 is not in the range"),
    ],
)
def test_wrong_usage_is_2(hushpoll, manifest_file, people, arguments, words):
    arguments = [str(people) if one == "{people}" else one for one in arguments]
    code, _, err = hushpoll("simulate", "--manifest", manifest_file, *arguments)
    assert code == 2
    assert words in err


def test_a_url_is_needed_unless_nothing_is_sent(hushpoll, manifest_file, monkeypatch):
    monkeypatch.delenv("HUSHPOLL_URL")
    code, _, err = hushpoll("simulate", "--manifest", manifest_file)
    assert code == 2
    assert "--url" in err
    code, out, _ = hushpoll("simulate", "--manifest", manifest_file, "--dry-run")
    assert (code, "1000 respondents are ready; nothing sent" in out) == (0, True)


def fleet_of(manifest: Manifest, count: int, code: int = 0) -> Fleet:
    """Respondents who all give the answer with one code."""
    rows = [[code] * len(manifest.attributes)] * count
    respondents = SimulatedRespondents.of_rows(manifest.attributes, rows)
    return Fleet(published=manifest.resolve(), respondents=respondents)


def test_a_server_that_goes_away_leaves_an_account_that_reconciles(manifest):
    config = ClientConfig(attempts=2, first_delay=0, longest_delay=0)
    fleet = fleet_of(manifest, 50)
    account = play("http://127.0.0.1:9", fleet, Account(50), concurrency=3, config=config)
    assert 1 <= account.pending <= 3
    assert account.sent == account.pending
    assert account.sent + account.unsent == 50
    assert not account.complete


def test_a_fault_in_one_respondent_ends_the_fleet(manifest):
    with pytest.raises(IndexError):
        play("http://127.0.0.1:9", fleet_of(manifest, 10, code=999), Account(10), concurrency=2)


@pytest.mark.parametrize("concurrency", [0, 257])
def test_concurrency_has_an_interval(manifest, concurrency):
    with pytest.raises(InvalidParameter, match=r"\[1, 256\]"):
        play("http://127.0.0.1:9", fleet_of(manifest, 1), Account(1), concurrency=concurrency)


def test_seeded_bits_depend_on_seed_and_respondent_alone():
    def drawn(seed: int, respondent: int) -> list[int]:
        bits = SeededBits(seed, respondent)
        return [bits.word(), *bits.words(3)]

    assert drawn(1, 2) == drawn(1, 2)
    assert len({tuple(drawn(seed, one)) for seed in range(3) for one in range(3)}) == 9
    assert all(0 <= word < 2**64 for word in drawn(1, 2))


def test_seeded_bits_randomise_like_any_others(manifest):
    published = manifest.resolve()
    answers = {one.name: one.domain[0] for one in manifest.attributes}
    first = randomize(published, answers, bits=SeededBits(1, 1))
    again = randomize(published, answers, bits=SeededBits(1, 1))
    assert first.record == again.record
    assert first.id != again.id


def test_batches_are_bounded_by_reports_and_by_bytes(manifest):
    assert block_size(manifest.resolve()) == 10_000
    wide = Manifest.from_dict(
        {
            "name": "wide",
            "version": 1,
            "title": "Wide",
            "epsilon": 1,
            "protocol": "OUE",
            "attributes": [{"name": "a", "role": "sensitive", "range": [1, 65536]}],
        }
    ).resolve()
    assert block_size(wide) == 8 * 2**20 // (16 + 8192)
