from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext

import pytest

from hushpoll_client import (
    BudgetExhausted,
    ClientConfig,
    InvalidParameter,
    Ledger,
    ManifestRefused,
    Published,
    SurveyClient,
)
from hushpoll_shared.drafts.manifest import Manifest
from waiting import LONGEST_SECONDS

SURVEY = "work-and-health"
NOWHERE = "http://127.0.0.1:9"
CONFIG = ClientConfig(raise_faults=True, exit_patience=0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "device" / "ledger.sqlite"


def version(draft, number: int, **changes) -> Published:
    return Manifest.from_dict(draft | {"version": number} | changes).resolve()


def client(path, published, **options) -> SurveyClient:
    opened = SurveyClient(
        NOWHERE, published.name, published=published, storage=path, config=CONFIG, **options
    )
    assert opened.give_consent()
    return opened


def test_asking_again_returns_the_stored_record_whatever_is_answered(path, published, answers):
    with client(path, published) as first:
        report = first.randomize(answers)
        assert first.randomize(answers | {"gender": "Male"}) == report
    for _ in range(3):
        with client(path, published) as later:
            assert later.randomize(answers | {"age": 20}) == report
            assert later.answer(answers).status == "known"
    assert Ledger.open(path).entries()[0].report == report
    assert Ledger.open(path).spent() == 4


def test_the_file_is_for_its_owner_alone(path, published, answers):
    old = os.umask(0)
    try:
        with client(path, published) as first:
            first.randomize(answers)
            kept = sorted(path.parent.iterdir())
            assert [stat.S_IMODE(file.stat().st_mode) for file in kept] == [0o600] * len(kept)
            assert len(kept) == 3
    finally:
        os.umask(old)
    path.chmod(0o644)
    with client(path, published):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_epsilon_spent_adds_up_exactly_in_any_decimal_context(path, draft, answers):
    with localcontext() as context:
        context.prec = 3
        for number, epsilon in enumerate(["1.000000000001", "2.5", "0.000000000001"], 1):
            if number == 3:
                epsilon = "0.100000000001"
            survey = version(draft, number, epsilon=epsilon)
            client(path, survey).randomize(answers)
        ledger = Ledger.open(path)
        assert ledger.spent() == ledger.spent(SURVEY) == Decimal("3.600000000002")
        assert ledger.spent("another") == 0


def test_the_limit_of_a_survey_holds_over_all_its_versions(path, draft, answers):
    first, second = version(draft, 1), version(draft, 2)
    client(path, first, max_epsilon="7.999").randomize(answers)
    with pytest.raises(BudgetExhausted, match=r"4 is spent on survey 'work-and-health'.*7\.999"):
        client(path, second, max_epsilon="7.999").randomize(answers)
    assert [entry.version for entry in Ledger.open(path).entries()] == [1]
    client(path, second, max_epsilon=8).randomize(answers)
    assert Ledger.open(path).spent(SURVEY) == 8


def test_the_total_limit_holds_over_all_surveys(path, draft, answers):
    other = version(draft, 1, name="other")
    client(path, version(draft, 1)).randomize(answers)
    with pytest.raises(BudgetExhausted, match=r"all surveys.*at most 7 \(max_epsilon_total\)"):
        client(path, other, max_epsilon_total=7).randomize(answers)
    client(path, other, max_epsilon_total="8").randomize(answers)
    assert Ledger.open(path).spent() == 8


def test_nothing_is_drawn_where_the_limit_forbids_it(path, draft, answers, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("drawn")

    client(path, version(draft, 1)).randomize(answers)
    late = client(path, version(draft, 2), max_epsilon_total=7)
    monkeypatch.setattr("hushpoll_client.device.survey_client.draw", never)
    with pytest.raises(BudgetExhausted):
        late.randomize(answers)
    outcome = late.answer(answers)
    assert (outcome.status, outcome.reason) == ("refused", "budget")
    assert late.losses == {"budget": 1}


def test_a_version_that_changed_its_digest_is_refused(path, draft, answers):
    client(path, version(draft, 1)).randomize(answers)
    with pytest.raises(ManifestRefused, match="a version never changes"):
        client(path, version(draft, 1, title="Other")).randomize(answers)


def test_an_answer_for_another_server_is_the_same_record(path, published, answers):
    report = client(path, published).randomize(answers)
    other = SurveyClient(
        "http://127.0.0.1:10", SURVEY, published=published, storage=path, config=CONFIG
    )
    other.give_consent()
    assert other.randomize(answers) == report
    (entry,) = Ledger.open(path).entries()
    assert (entry.server, entry.state, entry.epsilon) == ("http://127.0.0.1:10", "waiting", 4)


def test_the_ledger_is_readable(path, published, answers):
    with client(path, published, token="s3cret-token") as holder:
        holder.give_consent("We ask five questions.")
        report = holder.randomize(answers)
    document = Ledger.open(path).to_dict()
    assert document["epsilon_spent"] == "4"
    (consent,) = document["consents"]
    assert (consent["survey"], consent["server"]) == (SURVEY, NOWHERE)
    (entry,) = document["answers"]
    assert entry["report"]["digest"] == entry["digest"] == published.digest
    assert (entry["state"], entry["version"], entry["epsilon"]) == ("waiting", 1, "4")
    assert "s3cret" not in str(document)
    assert report.to_json() not in repr(Ledger.open(path).entries())


def test_threads_randomise_once(path, published, answers):
    clients = [client(path, published) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda respondent: respondent.randomize(answers), clients * 4))
    assert len({report.to_json() for report in reports}) == 1
    assert Ledger.open(path).spent() == 4
    for respondent in clients:
        respondent.close()


PROCESS = """
import json, os, sys
from hushpoll_client import ClientConfig, Published, SurveyClient
path, survey, answers = sys.argv[1:]
published = Published.from_json(open(survey, "rb").read())
config = ClientConfig(raise_faults=True)
client = SurveyClient({url!r}, published.name, published=published, storage=path, config=config)
client.give_consent()
{body}
"""


def process(path, published, answers, body: str) -> list[str]:
    import json

    survey = path.parent.parent / "survey.json"
    survey.write_bytes(published.canonical)
    code = PROCESS.format(url=NOWHERE, body=body)
    return [sys.executable, "-c", code, str(path), str(survey), json.dumps(answers)]


def test_processes_randomise_once(path, published, answers):
    command = process(
        path, published, answers, "print(client.randomize(json.loads(answers)).to_json())"
    )
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    outputs = {
        running_process.communicate(timeout=LONGEST_SECONDS)[0] for running_process in running
    }
    assert [running_process.returncode for running_process in running] == [0] * 6
    assert len(outputs) == 1
    assert Ledger.open(path).spent() == 4


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_crash_between_draw_and_store_spends_nothing(path, published, answers, place):
    # The process dies at once, as by kill -9: inside the transaction, or just after its commit.
    body = {
        "before": "import hushpoll_client.device.survey_client as module\n"
        "draw = module.draw\n"
        "module.draw = lambda *a: (draw(*a), os._exit(9))\n"
        "client.randomize(json.loads(answers))",
        "after": "client.randomize(json.loads(answers)); os._exit(9)",
    }[place]
    done = subprocess.run(
        process(path, published, answers, body), timeout=LONGEST_SECONDS, check=False
    )
    assert done.returncode == 9
    before = Ledger.open(path).entries()
    assert len(before) == (0 if place == "before" else 1)
    report = client(path, published).randomize(answers)
    (entry,) = Ledger.open(path).entries()
    assert entry.report == report
    assert [entry] == before or place == "before"
    assert Ledger.open(path).spent() == 4


@pytest.mark.parametrize("options", [{"max_epsilon_total": 0}, {"max_epsilon_total": "x"}])
def test_wrong_limits_are_a_callers_mistake(path, published, options):
    with pytest.raises(InvalidParameter) as caught:
        client(path, published, **options)
    assert caught.value.field == "max_epsilon_total"


@pytest.mark.parametrize("options", [{"max_epsilon_total": 1}, {"on_loss": print}])
def test_options_that_need_a_file_say_so(options):
    with pytest.raises(InvalidParameter) as caught:
        SurveyClient(NOWHERE, SURVEY, **options)
    assert caught.value.field == "storage"


@pytest.mark.parametrize("wrong", [3, "", b"x"])
def test_storage_is_a_path(wrong):
    with pytest.raises(InvalidParameter) as caught:
        SurveyClient(NOWHERE, SURVEY, storage=wrong)
    assert caught.value.field == "storage"
