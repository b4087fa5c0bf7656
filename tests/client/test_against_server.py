"""The client against the real server, started as a user starts it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hushpoll_client import (
    ClientConfig,
    InvalidParameter,
    ManifestRefused,
    Report,
    ReportNotSent,
    SurveyClient,
    TransportError,
    randomize,
)
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.drafts.manifest import Manifest, load_manifest
from hushpoll_shared.wire.reports import Report as Row
from hushpoll_shared.wire.reports import new_report_id, pack_reports
from waiting import wait_until

HASTY = ClientConfig(attempts=1)
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def real_server(tmp_path_factory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), options=("--close-grace", "0")) as server:
        yield server


@pytest.fixture
def analyst(real_server) -> Iterator[AnalystClient]:
    with AnalystClient(real_server.url, real_server.token, config=HASTY) as client:
        yield client


@pytest.fixture
def survey(analyst, draft):
    """A freshly published survey of its own per test."""
    draft["name"] = f"survey-{next(NUMBERS)}"
    draft |= {"minimum_batch": 10, "release": "immediate"}
    analyst.publish(draft)
    return Manifest.from_dict(draft).resolve()


def respondent(real_server, survey, **options) -> SurveyClient:
    return SurveyClient(real_server.url, survey.name, config=HASTY, **options)


def refused(send) -> ReportNotSent:
    with pytest.raises(ReportNotSent) as caught:
        send()
    return caught.value


def test_publish_fetch_answer(real_server, survey, answers):
    with respondent(real_server, survey, digest=survey.digest, max_epsilon=4) as client:
        receipt = client.submit(answers)
        assert receipt.status == "accepted"
        assert client.send(receipt.report).status == "duplicate"


def test_pages_of_all_surveys_run_the_scripts_that_are_installed(
    hushpoll, real_server, analyst, survey, draft
):
    draft |= {"name": f"survey-{next(NUMBERS)}", "protected": None}
    draft["attributes"] = [
        {"name": "one", "role": "sensitive", "protocol": "GRR", "range": [1, 2]},
        {"name": "two", "role": "sensitive", "protocol": "GRR", "range": [1, 2]}
        | {"ask_if": {"one": ["2"]}},
    ]
    draft["split"] = "uniform"
    analyst.publish(draft)
    digests = set()
    for name in (survey.name, draft["name"]):
        code, out, _ = hushpoll(
            "page-digest", f"{real_server.url}/s/{name}#sha256=0", "--local", "--json"
        )
        assert code == 0, out
        found = json.loads(out)
        assert found["same"] is True
        assert found["page"]["files"] > 10
        digests.add(found["page"]["digest"])
    assert len(digests) == 1
    for path, said in (("/s/none", "there is no page"), ("/health", "names no script")):
        code, _, err = hushpoll("page-digest", f"{real_server.url}{path}")
        assert code != 0
        assert said in err


def test_the_same_id_with_other_bytes_is_a_conflict(real_server, survey, answers):
    with respondent(real_server, survey) as client:
        report = client.submit(answers).report
        other = Report(report.digest, report.id, randomize(survey, answers).record)
        assert other.record != report.record
        error = refused(lambda: client.send(other))
    assert (error.status, error.problem["code"]) == (409, "report-conflict")


def test_one_report_sent_by_many_at_once_counts_once(real_server, survey, answers, analyst):
    report = randomize(survey, answers)

    def send(_: int) -> str:
        with respondent(real_server, survey) as client:
            return client.send(report).status

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(send, range(16)))
    assert outcomes == ["accepted"] + ["duplicate"] * 15
    assert analyst.find(survey.digest)["reports"] == 1


@pytest.mark.parametrize(
    ("change", "code", "status"),
    [
        (lambda r: r[:-1], "malformed-report", 422),
        (lambda r: r + b"\0", "malformed-report", 422),
        (lambda r: r[:-1] + b"\x02", "malformed-report", 422),
    ],
)
def test_malformed_records_are_refused(real_server, survey, answers, change, code, status):
    good = randomize(survey, answers)
    bad = Report(good.digest, good.id, change(good.record))
    with respondent(real_server, survey) as client:
        error = refused(lambda: client.send(bad))
        assert (error.problem["code"], error.status) == (code, status)
        assert client.send(good).status == "accepted"


def test_an_unknown_digest_is_refused(real_server, survey, answers):
    good = randomize(survey, answers)
    with respondent(real_server, survey) as client:
        error = refused(lambda: client.send(Report("0" * 64, good.id, good.record)))
    assert error.problem["code"] == "unknown-digest"


def test_an_unknown_survey_is_refused(real_server):
    with (
        SurveyClient(real_server.url, "nobody-asks-this", config=HASTY) as client,
        pytest.raises(TransportError, match="nobody-asks-this") as caught,
    ):
        client.fetch()
    assert caught.value.status == 404


def test_a_closed_survey_is_refused(real_server, survey, answers, analyst):
    assert analyst.close(survey.name, 1)["state"] == "closed"
    assert analyst.close(survey.name, 1)["state"] == "closed"
    with respondent(real_server, survey) as client:
        error = refused(lambda: client.submit(answers))
    assert (error.problem["code"], error.status) == ("survey-closed", 410)
    assert error.report.digest == survey.digest


def test_a_new_version_does_not_move_a_pinned_client(real_server, survey, draft, analyst, answers):
    analyst.publish(draft | {"version": 2, "title": "Work, health and leisure"})
    with (
        respondent(real_server, survey, digest=survey.digest) as client,
        pytest.raises(ManifestRefused, match="version 2"),
    ):
        client.fetch()
    with respondent(real_server, survey, digest=survey.digest, version=1) as client:
        assert client.submit(answers).status == "accepted"
    with (
        respondent(real_server, survey, published=survey) as client,
        pytest.raises(ManifestRefused, match="title: 'Work and health' became 'Work, health"),
    ):
        client.fetch()


def test_token_surveys(real_server, draft, analyst, answers):
    draft |= {"name": "by-token", "submission": "token"}
    analyst.publish(draft)
    survey = Manifest.from_dict(draft).resolve()
    first, second = analyst.mint_tokens("by-token", 2)
    with respondent(real_server, survey, token=first) as client:
        report = client.submit(answers).report
        assert client.send(report).status == "duplicate"
    with respondent(real_server, survey, token=first) as thief:
        assert refused(lambda: thief.submit(answers)).status == 401
    with respondent(real_server, survey, token=second) as client:
        assert client.submit(answers).status == "accepted"


def test_bulk_upload_rejects_single_reports(survey, answers, analyst):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(5)]
    bad = Row(new_report_id(), rows[0].record[:-1] + b"\x09")
    body = pack_reports(survey.digest, [*rows[:2], bad, *rows[2:], rows[0]])
    receipt = analyst.submit_bulk(survey.name, body)
    assert (receipt.accepted, receipt.duplicate) == (5, 1)
    (rejected,) = receipt.rejected
    assert (rejected["index"], rejected["code"], rejected["field"]) == (
        2,
        "malformed-report",
        "income",
    )


def test_estimates_cross_tables_and_export(survey, answers, analyst, tmp_path):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(50)]
    analyst.submit_bulk(survey.name, pack_reports(survey.digest, rows))
    estimates = analyst.estimates(survey.name, 1)
    assert estimates["n"] == 50
    education = next(one for one in estimates["attributes"] if one["name"] == "education")
    assert [row["frequency"] for row in education["categories"]] == [0.0, 1.0]
    table = analyst.cross_table(survey.name, 1, "education", "income")
    assert table["survey"] == survey.name
    out = tmp_path / "records.bin"
    with out.open("wb") as stream:
        size = analyst.export(survey.name, 1, stream.write)
    from hushpoll_shared.wire.records_file import read_records

    exported, records = read_records(out)
    assert out.stat().st_size == size
    assert exported.digest == survey.digest
    assert sorted(map(bytes, records)) == sorted(row.record for row in rows)


def test_publishing_other_content_under_a_version_is_refused(survey, draft, analyst):
    assert analyst.publish(draft)["digest"] == survey.digest
    with pytest.raises(TransportError) as caught:
        analyst.publish(draft | {"title": "Other"})
    assert caught.value.problem["code"] == "version-exists"


def test_a_wrong_token_is_refused(real_server, draft):
    with (
        AnalystClient(real_server.url, "hp_0000000000000000_" + "x" * 43, config=HASTY) as client,
        pytest.raises(TransportError) as caught,
    ):
        client.publish(draft)
    assert (caught.value.status, caught.value.retryable) == (401, False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 65}, "epsilon"),
        ({"protected": {"attribute": "sex", "privileged": "a", "unprivileged": "b"}}, "sex"),
    ],
)
def test_the_server_refuses_a_wrong_draft_by_field(analyst, draft, change, words):
    with pytest.raises((InvalidParameter, ManifestRefused), match=words):
        analyst.publish(draft | change)


# ---- the commands


@pytest.fixture
def hushpoll(real_server, capsys, monkeypatch):
    monkeypatch.setenv("HUSHPOLL_URL", real_server.url)
    monkeypatch.setenv("HUSHPOLL_TOKEN", real_server.token)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return call


def write(path: Path, document: object) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def test_survey_commands(hushpoll, draft, tmp_path):
    draft["name"] = "by-command"
    file = write(tmp_path / "survey.json", draft)
    digest = Manifest.from_dict(draft).resolve().digest
    code, out, _ = hushpoll("survey", "publish", file)
    assert code == 0
    assert f"by-command version 1 is published\ndigest: {digest}\n" in out
    assert "warning: answers that leave the device in clear: education" in out
    code, out, _ = hushpoll("survey", "publish", file, "--json")
    assert (code, json.loads(out)["digest"]) == (0, digest)
    code, out, _ = hushpoll("survey", "show", "by-command")
    assert code == 0
    assert out.index("education") < out.index("gender") < out.index(digest)
    code, out, _ = hushpoll("survey", "show", "by-command", "--version", "1", "--json")
    assert json.loads(out)["name"] == "by-command"
    code, out, _ = hushpoll("survey", "list")
    assert f"by-command v1  open  0 reports  Work and health  sha256={digest}" in out
    code, _, err = hushpoll("survey", "close", "by-command", "--grace", "0")
    assert (code, "Close by-command version 1?" in err) == (1, True)
    assert "by-command v1  open" in hushpoll("survey", "list")[1]
    code, out, _ = hushpoll("survey", "close", "by-command", "--grace", "0", "--yes")
    assert (code, "by-command version 1 is closed" in out) == (0, True)
    code, out, _ = hushpoll("survey", "list", "--json")
    states = {one["survey"]: one["state"] for one in json.loads(out)["surveys"]}
    assert states["by-command"] == "closed"


def test_draft_commands(hushpoll, analyst, draft, tmp_path):
    draft["name"] = "drafted"
    faulty = {"epsilon": "x", "release": "now"}
    text = json.dumps(faulty | {key: draft[key] for key in draft if key not in faulty}, indent=1)
    file = str(tmp_path / "survey.json")
    (tmp_path / "survey.json").write_text(text)
    code, out, _ = hushpoll("draft", "check", file)
    assert code == 1
    first, *faults = out.splitlines()
    assert first == "survey.json cannot be published, for it has 2 faults:"
    assert faults[0].startswith("survey.json:2: epsilon is 'x'")
    assert faults[1].startswith("survey.json:3: release is 'now'")
    code, out, _ = hushpoll("draft", "check", file, "--json")
    problems = json.loads(out)["problems"]
    assert (code, [(one["field"], one["line"]) for one in problems]) == (
        1,
        [("epsilon", 2), ("release", 3)],
    )
    code, out, _ = hushpoll("draft", "save", file, "--json")
    draft_id = json.loads(out)["id"]
    assert (code, json.loads(out)["revision"]) == (0, 1)
    write(tmp_path / "survey.json", draft)
    code, out, _ = hushpoll("draft", "check", file)
    assert code == 0
    # A draft with warnings can be published, and the first line says so.
    assert out.startswith("It can be published.\nwarning: ")
    assert analyst.launch_plan(draft, 1000, width=1.0)["verdict"]["answer"] == "yes"
    code, _, err = hushpoll("draft", "save", file, "--id", draft_id)
    assert (code, "--revision together" in err) == (2, True)
    code, out, _ = hushpoll("draft", "save", file, "--id", draft_id, "--revision", "1")
    assert (code, f"{draft_id}  drafted  revision 2" in out) == (0, True)
    for command in (("save", file, "--id", draft_id), ("publish", draft_id)):
        code, _, err = hushpoll("draft", *command, "--revision", "1")
        assert (code, "it has revision 2; read it again" in err) == (1, True), command
    assert draft_id in hushpoll("draft", "list")[1]
    code, out, _ = hushpoll("draft", "show", draft_id)
    (tmp_path / "shown.yaml").write_text(out)
    assert load_manifest(tmp_path / "shown.yaml") == Manifest.from_dict(draft)
    code, out, _ = hushpoll("draft", "publish", draft_id, "--revision", "2")
    assert (code, "drafted version 1 is published" in out) == (0, True)
    code, out, _ = hushpoll("draft", "begin", "drafted", "--json")
    begun = json.loads(out)
    assert begun["manifest"]["version"] == 2
    assert hushpoll("draft", "delete", begun["id"], "--yes")[0] == 0
    assert begun["id"] not in hushpoll("draft", "list")[1]
    code, _, err = hushpoll("draft", "show", "../surveys")
    assert (code, "the draft's id is '../surveys'" in err) == (1, True)


def test_results_commands(hushpoll, survey, answers, analyst):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(30)]
    analyst.submit_bulk(survey.name, pack_reports(survey.digest, rows))
    question = survey.attributes[0].name
    publish = ("results", "publish", survey.name, "--attribute", question)
    code, _, err = hushpoll(*publish, "--yes")
    assert (code, "is open; its results can be published once it is closed" in err) == (1, True)
    (clear,) = (one.name for one in survey.attributes if one.name == "income")
    refused = ("results", "publish", survey.name, "--attribute", clear, "--so-far", "--yes")
    code, _, err = hushpoll(*refused)
    assert (code, f"{clear} is answered in clear" in err) == (1, True)
    code, out, _ = hushpoll(*publish, "--so-far", "--yes")
    assert (code, f"are public: {analyst.url}/results/{survey.name}" in out) == (0, True)
    assert hushpoll("results", "withdraw", survey.name, "--yes")[0] == 0
    analyst.close(survey.name, 1)
    # There is nobody who could answer the question.
    code, _, err = hushpoll(*publish)
    assert (code, f"Show the results of {survey.name} version 1 to everybody?" in err) == (1, True)
    assert "  public  " not in hushpoll("results", "list", survey.name)[1]

    def published() -> str | None:
        # The last reports are released some moments after the survey is closed.
        code, out, _ = hushpoll(*publish, "--confidence", "0.9", "--yes", "--json")
        return None if code else out

    answer, address = json.loads(wait_until(published)), f"/results/{survey.name}/versions/1"
    assert (answer["address"], answer["confidence"]) == (address, 0.9)
    assert (answer["attributes"], answer["fairness"]) == ([question], True)
    assert f"{address}  public  published " in hushpoll("results", "list", survey.name)[1]
    code, out, _ = hushpoll("results", "withdraw", survey.name, "--version", "1", "--yes")
    assert (code, out) == (0, f"The results of {survey.name} version 1 are taken back.\n")
    assert f"{address}  taken back " in hushpoll("results", "list", survey.name)[1]
    code, _, err = hushpoll("results", "withdraw", survey.name, "--yes")
    assert (code, "are published; publish them first" in err) == (1, True)


def test_a_dry_run_publishes_nothing(hushpoll, draft, tmp_path):
    draft["name"] = "dry"
    file = write(tmp_path / "survey.json", draft)
    code, out, _ = hushpoll("survey", "publish", file, "--dry-run")
    assert code == 0
    assert "Sent in clear" in out
    code, _, err = hushpoll("survey", "show", "dry")
    assert (code, err.count("\n")) == (1, 1)
    assert "dry" in err


def test_a_wrong_manifest_file_is_refused_by_field(hushpoll, draft, tmp_path):
    draft["attributes"][0]["categories"] = ["Female", "Female"]
    code, out, err = hushpoll("survey", "publish", write(tmp_path / "survey.json", draft))
    assert (code, out) == (1, "")
    assert err.startswith("Error: attributes[gender] has the category 'Female' twice")


def test_estimate_and_export_commands(hushpoll, survey, answers, analyst, tmp_path):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(40)]
    analyst.submit_bulk(survey.name, pack_reports(survey.digest, rows))
    code, out, _ = hushpoll("estimate", survey.name, "--attribute", "education")
    assert code == 0
    assert "40 reports" in out
    assert "95 % interval" in out
    assert "gender" not in out
    shown = survey.attribute("education").k
    assert f"of these {shown} at 95 %" in " ".join(out.split())
    assert "reports' shape" not in out
    line = next(line for line in out.splitlines() if "college" in line)
    assert "1.00 │" in line
    # One in a hundred answers in clear moves a share by one in a hundred.
    assert "could be up to 1.0 percentage points too high or 1.0 too low" in " ".join(out.split())
    code, out, _ = hushpoll("estimate", survey.name, "--json")
    assert [one["name"] for one in json.loads(out)["attributes"]] == list(answers)
    code, _, err = hushpoll("estimate", survey.name, "--attribute", "shoes")
    assert code == 1
    assert "'shoes'" in err
    out_file = tmp_path / "records.bin"
    code, out, _ = hushpoll("export", survey.name, "--out", str(out_file), "--json")
    assert code == 0
    assert json.loads(out) == {
        "survey": survey.name,
        "version": 1,
        "digest": survey.digest,
        "records": 40,
        "file": str(out_file),
    }
    assert list(tmp_path.iterdir()) == [out_file]


def test_relate_commands(hushpoll, survey, answers, analyst):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(40)]
    analyst.submit_bulk(survey.name, pack_reports(survey.digest, rows))
    asked = ("--of", "income", "--given", "education")
    code, out, err = hushpoll("relate", "shares", survey.name, *asked, "--reference", "college")
    assert code == 0, err
    assert "income, given education" in out
    assert "cannot conclude" in out  # nobody answered another education
    assert "of these" in out
    code, out, _ = hushpoll("relate", "shares", survey.name, *asked, "--simultaneous", "--json")
    assert (code, json.loads(out)["simultaneous"]) == (0, True)
    assert json.loads(out) == analyst.conditional_shares(
        survey.name, 1, "income", "education", simultaneous=True
    )
    code, out, _ = hushpoll("relate", "independence", survey.name, "gender", "income")
    assert code == 0
    assert "A test has no interval." in out
    code, out, _ = hushpoll("relate", "independence", survey.name, "gender", "income", "--json")
    assert json.loads(out) == analyst.independence(survey.name, 1, "gender", "income")


def test_weight_command(hushpoll, survey, answers, analyst, tmp_path):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(40)]
    analyst.submit_bulk(survey.name, pack_reports(survey.digest, rows))
    file = tmp_path / "design.yaml"
    file.write_text("population: 1000\n")
    asked = ("weight", survey.name, "income", "--design", str(file))
    code, out, err = hushpoll(*asked)
    assert code == 0, err
    assert "are worth 40 of one weight" in out
    code, out, _ = hushpoll(*asked, "--confidence", "0.9", "--json")
    assert code == 0
    design = {"population": 1000}
    assert json.loads(out) == analyst.weighted_shares(
        survey.name, 1, "income", design, confidence=0.9
    )
    code, _, err = hushpoll("weight", survey.name, "shoes")
    assert code == 1
    assert "shoes" in err


def test_relate_commands_of_many_answers(hushpoll, survey, answers, analyst):
    rows = [Row(new_report_id(), randomize(survey, answers).record) for _ in range(1200)]
    analyst.submit_bulk(survey.name, pack_reports(survey.digest, rows))
    asked = ("relate", "together", survey.name, "--attribute", "gender")
    code, out, err = hushpoll(*asked, "--method", "anytime")
    assert code == 0, err
    assert "at all looks" in out
    code, out, _ = hushpoll(*asked, "--json")
    assert json.loads(out) == analyst.simultaneous_estimates(survey.name, 1, attribute="gender")
    code, out, err = hushpoll("relate", "all", survey.name)
    assert code == 0, err
    assert "at most the part 0.05 is expected not to be" in " ".join(out.split())
    code, out, _ = hushpoll("relate", "all", survey.name, "--rate", "0.2", "--json")
    assert json.loads(out) == analyst.dependencies(survey.name, 1, rate=0.2)


def test_ordered_and_answered_commands(hushpoll, analyst, draft):
    steps = {"name": "steps", "role": "sensitive", "protocol": "GRR", "missing": "no answer",
             "categories": ["0-4", "5-9", "10-14"]}  # fmt: skip
    asked = {**draft, "name": "walking", "split": "uniform", "release": "immediate"}
    asked["attributes"] = [*draft["attributes"], steps]
    analyst.publish(asked)
    published = analyst.show("walking", 1)
    answers = {one.name: one.categories[0] for one in published.attributes}
    rows = [
        Row(new_report_id(), randomize(published, answers | {"steps": step}).record)
        for step in ("0-4", "5-9", None)
        for _ in range(400)
    ]
    analyst.submit_bulk("walking", pack_reports(published.digest, rows))
    code, out, err = hushpoll("ordered", "walking", "steps", "--threshold", "5")
    assert code == 0, err
    for words in ("if all lie at the lower", "share at or above 5", "median", "of these"):
        assert words in " ".join(out.split())
    options = ("--scores", "0:5,5:10,20", "--quantiles", "0.5", "--interpolation", "linear")
    code, out, err = hushpoll("ordered", "walking", "steps", *options, "--json")
    assert code == 0, err
    assert json.loads(out) == analyst.ordered_answers(
        "walking", 1, "steps", scores=[(0, 5), (5, 10), 20], quantiles=[0.5], interpolation="linear"
    )
    options = ("--given", "gender", "--reference", published.attribute("gender").domain[0])
    code, out, err = hushpoll("ordered", "walking", "steps", *options)
    assert code == 0, err
    assert "Quantiles have no difference with an interval." in " ".join(out.split())
    code, out, err = hushpoll("ordered", "walking", "steps", *options, "--simultaneous", "--json")
    assert json.loads(out) == analyst.ordered_answers(
        "walking", 1, "steps", given="gender", reference=options[-1], simultaneous=True
    )
    asked = ("relate", "means", "walking", "steps", "--scores", "steps=1,2:3,4")
    code, out, err = hushpoll(*asked)
    assert (code, "count with their middle" in " ".join(out.split())) == (0, True), err
    code, out, err = hushpoll(*asked, "--confidence", "0.9", "--json")
    assert json.loads(out) == analyst.simultaneous_means(
        "walking", 1, attributes=["steps"], scores={"steps": [1, (2, 3), 4]}, confidence=0.9
    )
    code, _, err = hushpoll("ordered", "walking", "gender")
    assert (code, "which is no number" in err) == (1, True)
    code, _, err = hushpoll("ordered", "walking", "steps", "--scores", "1,b,3")
    assert (code, "scores[1] is 'b'" in err) == (1, True)
    code, out, err = hushpoll("answered", "walking")
    assert code == 0, err
    assert "Share who answered" in out
    assert "shares of everybody only if" in " ".join(out.split())
    code, out, _ = hushpoll("answered", "walking", "--attribute", "steps", "--json")
    assert json.loads(out) == analyst.answered_shares("walking", 1, attribute="steps")


def test_relate_change_command(hushpoll, survey, answers, analyst, draft):
    analyst.publish({**draft, "version": 2})
    second = analyst.show(survey.name, 2)
    for published in (survey, second):
        rows = [Row(new_report_id(), randomize(published, answers).record) for _ in range(30)]
        analyst.submit_bulk(survey.name, pack_reports(published.digest, rows))
    asked = ("relate", "change", survey.name, "education", "--since", "1")
    code, out, err = hushpoll(*asked)
    assert code == 0, err
    assert "A person who answered both has spent epsilon 8, of which 0 on this attribute." in out
    mapped = ("--map", "school=less", "--since-map", "school=less")
    code, out, _ = hushpoll(*asked, *mapped, "--json")
    assert [row["label"] for row in json.loads(out)["changes"]] == ["less", "college"]
    assert json.loads(out) == analyst.changes(
        survey.name, 2, "education", since_version=1,
        mapping={"school": "less"}, since_mapping={"school": "less"},
    )  # fmt: skip
    code, _, err = hushpoll(*asked, "--map", "school=less")
    assert (code, "map categories of both to the same labels" in err) == (1, True)
    code, _, err = hushpoll(*asked, "--map", "school")
    assert (code, "give CATEGORY=LABEL" in err) == (1, True)


def test_too_few_reports_for_an_estimate(hushpoll, survey):
    code, _, err = hushpoll("estimate", survey.name)
    assert code == 1
    assert "reports" in err


def test_a_failed_export_leaves_no_file(hushpoll, tmp_path):
    code, _, err = hushpoll("export", "nobody-asks-this", "--out", str(tmp_path / "r.bin"))
    assert code == 1
    assert "nobody-asks-this" in err
    assert list(tmp_path.iterdir()) == []


def test_origins_are_set_shown_and_removed(real_server, survey, monkeypatch, capsys):
    monkeypatch.setenv("HUSHPOLL_URL", real_server.url)
    monkeypatch.setenv("HUSHPOLL_TOKEN", real_server.token)

    def origins(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["survey", "origins", survey.name, *arguments])
        printed = capsys.readouterr()
        return ended.value.code, printed.out or printed.err

    nobody = f"No page of another origin may answer {survey.name}.\n"
    assert origins() == (0, nobody)
    shop, local = "https://shop.example.org", "http://localhost:8080"
    assert origins(shop, local) == (0, f"{local}\n{shop}\n")
    assert json.loads(origins("--json")[1]) == {"name": survey.name, "origins": [local, shop]}
    code, words = origins("https://shop.example.org/form")
    assert (code, words.count("\n")) == (1, 1)
    assert "no origin as browsers send it" in words
    assert origins("--none", shop)[0] == 2
    assert origins("--none") == (0, nobody)


def test_a_survey_that_hardly_protects_is_published_only_on_request(
    real_server, analyst, draft, tmp_path, capsys
):
    draft |= {"name": f"survey-{next(NUMBERS)}", "epsilon": "17"}
    with pytest.raises(TransportError, match=r"hardly protects.*--allow-weak") as caught:
        analyst.publish(draft)
    assert (caught.value.status, caught.value.retryable) == (422, False)
    file = tmp_path / "survey.json"
    file.write_text(json.dumps(draft))
    command = ["survey", "publish", str(file)]
    access = ["--url", real_server.url, "--token", real_server.token]
    with pytest.raises(SystemExit) as failed:
        main([*command, *access])
    assert failed.value.code == 1
    assert "--allow-weak" in capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        main([*command, "--allow-weak", *access])
    assert done.value.code == 0
    assert "warning: the epsilons of all questions sum to 17" in capsys.readouterr().out
    assert analyst.publish(draft, allow_weak=True)["version"] == 1
