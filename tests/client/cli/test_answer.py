"""``hushpoll answer`` and ``hushpoll ledger``, typed by hand against a scripted server."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from dataclasses import replace

import pytest

from hushpoll_client import Ledger, Report
from hushpoll_client.cli import answer
from hushpoll_client.cli.commandline import main
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import (
    Token,
    encode_evaluation,
    key_info,
    parse_redemption,
)
from vector_builders.surveys import FOLLOW_UPS, TOGETHER, WORDED

SURVEY = "work-and-health"
ACCEPTED = {"status": "accepted"}
NOTHING_TAKEN_BACK = {"deleted": 0, "not_here": 0, "unanswered": 0, "unable": 0}
# Agree; gender skipped, age, country by number, education by name, income by number; send.
TYPED = "y\n\n44\n3\ncollege\n2\ny\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def call(monkeypatch, capsys, path):
    def run(*arguments: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        monkeypatch.setenv("HUSHPOLL_LEDGER", str(path))
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return run


@pytest.fixture
def offer(server, steps):
    """Play a server whose survey is fetched twice: before consent, and to be kept after it."""
    return lambda survey, *rest: server.play(*[steps.respond(200, survey.canonical)] * 2, *rest)


@pytest.fixture
def link(server):
    return f"{server.url}/s/{SURVEY}"


def test_a_block_is_answered_question_by_question_and_sent_as_one_value(call, offer, server, steps):
    survey = Manifest.from_dict(TOGETHER).resolve()
    offer(survey, steps.respond(201, ACCEPTED))
    code, _, err = call("answer", f"{server.url}/s/blocks", typed="y\n1\n\n3\n10\nyes\n9\nno\ny\n")
    assert code == 0, err
    sent = Report.from_json(server.seen[2].body)
    survey.layout.check(sent.record)
    assert len(sent.record) == survey.layout.record_size
    said = " ".join(err.split())
    with_others = "It is randomised together with the answers to: “Your gender?”, “job”."
    assert f"{with_others} These 3 answers are weakly protected" in said
    together = (
        "These 3 answers together (habits): smokes (Do you smoke?), gender (Your gender?), job"
    )
    assert together in said


@pytest.mark.parametrize(
    ("typed", "missed", "answers"),
    [
        # Agree; Bonn, where no tram is asked; no to both routers; send.
        ("y\n3\n1\n1\ny\n", ("tram", "How many a day?", "wine", "beer", "brand"), (0, 3)),
        # Agree; Delft and a tram; daily, more than 20; yes, two numbers; a brand; send.
        ("y\n1\n2\n3\n2\n2\n0\n1\n1\ny\n", (), (2, 1)),
    ],
    ids=["not asked", "asked"],
)
def test_a_follow_up_is_asked_after_its_routers_answer_alone(
    call, offer, server, steps, typed, missed, answers
):
    survey = Manifest.from_dict(FOLLOW_UPS | {"epsilon": "60"}).resolve()
    offer(survey, steps.respond(201, ACCEPTED))
    code, _, err = call("answer", f"{server.url}/s/follow-ups", typed=typed)
    assert code == 0, err
    asked = re.findall(r"^(\d) of 8\. (.*)$", err, re.MULTILINE)
    assert len(asked) == 8 - len(missed)
    assert not set(missed) & {question.strip() for _, question in asked}
    assert "not asked\n" not in err.partition("This will leave")[0]
    record = Report.from_json(server.seen[2].body).record
    survey.layout.check(record)
    field = survey.layout.field("habits")
    # A lie has a chance of less than 1e-9.
    (value,) = field.oracle.support(record[field.offset : field.end])
    assert field.block.part(value) == answers


def test_a_survey_is_answered_from_consent_to_receipt(
    call, offer, server, steps, link, published, path
):
    offer(published, steps.respond(201, ACCEPTED))
    code, out, err = call("answer", link, "--json", typed=TYPED)
    assert code == 0, err
    (entry,) = Ledger.open(path).entries()
    document = json.loads(out)
    assert document["digest"] == published.digest
    assert (document["status"], document["epsilon"], document["epsilon_spent"]) == (
        "accepted",
        "4",
        "4",
    )
    sent = Report.from_json(server.seen[2].body)
    assert document["id"] == entry.id == b64encode(sent.id)
    assert entry.report is None
    # What is sent in clear stands first, with the answers; then what is randomised, and how well.
    clear, perturbed = err.index("Sent in clear"), err.index("Randomised on this device")
    assert clear < err.index("education: college") < err.index("income: >26000") < perturbed
    assert "best guess" in err[perturbed:]
    assert "at most epsilon 4" in err
    assert published.digest in err
    # The codes of the clear attributes are the last bytes: college, >26000.
    assert sent.record[-2:] == bytes([1, 1])


def test_answering_again_asks_nothing_and_sends_nothing(
    call, offer, server, steps, link, published
):
    offer(published, steps.respond(201, ACCEPTED))
    call("answer", link, typed=TYPED)
    code, out, err = call("answer", link, typed="")
    assert (code, len(server.seen)) == (0, 3)
    assert "its one report stands" in err
    assert "Another person answers with a ledger of their own" in err
    assert "acknowledged by the server, where it stays" in out


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_consent_nothing_is_asked_or_kept(
    call, server, offer, link, published, path, typed
):
    offer(published)
    code, out, err = call("answer", link, typed=typed)
    assert (code, out) == (1, "")
    assert "Nothing was asked, kept or sent." in err
    assert published.title in err
    assert f"hushpoll ledger withdraw {SURVEY}" in err
    assert [request.method for request in server.seen] == ["GET"]
    assert not path.exists()


def test_nobody_is_asked_to_agree_to_a_survey_that_is_not_there(call, server, steps, link, path):
    server.play(steps.problem("unknown-survey"))
    code, out, err = call("answer", link, typed="y\n")
    assert (code, out) == (1, "")
    assert "Do you agree" not in err
    assert not path.exists()


def test_the_statement_says_until_when_what_was_sent_can_be_taken_back(
    call, link, path, offer, published
):
    offer(published)
    _, _, err = call("answer", link, typed="n\n")
    words = " ".join(err.split())
    assert (
        "What was sent can be taken back until the server has mixed it with other reports" in words
    )
    assert "withdraw at any time" not in words
    assert f"the secret that takes it back are kept in {path}" in words
    assert "the report itself until the server has taken it" in words


@pytest.mark.parametrize("typed", [TYPED[:-2] + "n\n", TYPED[:-2], "y\n\n44\n"])
def test_nothing_is_randomised_before_the_last_question(
    call, offer, server, steps, link, published, path, typed
):
    offer(published)
    code, _, err = call("answer", link, typed=typed)
    assert code == 1
    assert "Nothing was randomised, spent or sent." in err
    assert Ledger.open(path).entries() == []
    assert len(server.seen) == 2


def test_a_wrong_answer_is_asked_again(call, offer, server, steps, link, published):
    offer(published, steps.respond(201, ACCEPTED))
    typed = TYPED.replace("44", "16\nold\n44").replace("\n3\n", "\n0\n5\n\n3\n")
    code, _, err = call("answer", link, typed=typed)
    assert code == 0
    assert err.count("none of the answers") == 5


def test_offline_the_report_is_kept_and_sent_later(
    call, offer, server, steps, link, published, path, monkeypatch
):
    monkeypatch.setattr("hushpoll_client.cli.answer.SEND_SECONDS", 0.5)
    offer(published, steps.drop)
    code, out, _ = call("answer", link, "--json", typed=TYPED)
    assert (code, json.loads(out)["status"]) == (0, "waiting")
    # The server may have stored what it did not acknowledge.
    code, out, _ = call("answer", link)
    assert "may have arrived all the same" in out
    assert "cannot be changed" in out
    assert "could not be reached" not in out
    server.play(steps.respond(201, ACCEPTED))
    code, out, _ = call("ledger", "send", "--json")
    assert (code, json.loads(out)) == (0, {"waiting": 0, "refused": {}, **NOTHING_TAKEN_BACK})
    (seen,) = server.seen
    (entry,) = Ledger.open(path).entries()
    assert (entry.state, entry.id) == ("accepted", json.loads(seen.body)["id"])


def test_no_network_at_first_is_exit_code_4(call, path):
    code, _, err = call("answer", f"http://127.0.0.1:9/s/{SURVEY}", typed="y\n")
    assert (code, "Error: " in err.splitlines()[-1]) == (4, True)


def test_a_pin_of_another_survey_is_refused(call, offer, server, steps, link, published):
    offer(published)
    for arguments in ((link, "--digest", "0" * 64), (f"{link}#sha256={'0' * 64}",)):
        code, _, err = call("answer", *arguments, typed=TYPED)
        assert code == 1
        assert "not the one that was pinned" in err
        assert published.digest in err


def test_limits_are_held(call, offer, server, steps, link, published):
    offer(published)
    for options, words in (
        (("--max-epsilon", "3"), "max_epsilon"),
        (("--max-epsilon-total", "3"), "max_epsilon_total"),
        (("--sensitive", "income"), "'income' in clear"),
    ):
        code, _, err = call("answer", link, *options, typed=TYPED)
        assert (code, words in err) == (1, True), err


def test_the_token_comes_from_the_link_or_the_environment(
    call, offer, server, steps, link, draft, monkeypatch
):
    survey = Manifest.from_dict(draft | {"submission": "token"}).resolve()
    offer(survey, steps.respond(201, ACCEPTED))
    code, out, err = call("answer", f"{link}#token=t0ken", typed=TYPED)
    assert code == 0
    assert server.seen[2].headers["Authorization"] == "Bearer t0ken"
    assert "t0ken" not in out + err


def test_a_refusal_by_the_server_is_said(call, offer, server, steps, link, published):
    offer(published, steps.problem("survey-closed"))
    code, out, _ = call("answer", link, typed=TYPED)
    assert (code, "refused the report for good: survey-closed" in out) == (1, True)


@pytest.mark.parametrize(
    ("dates", "state", "words"),
    [
        ({}, "scheduled", "has not begun. Nothing was asked or sent"),
        ({"opens": "2126-03-01T12:00:00Z"}, "scheduled", "it begins on 2126-03-01 at 12:00 UTC."),
        ({"opens": "2126-03-01T12:00:00Z"}, None, "it begins on 2126-03-01 at 12:00 UTC."),
        ({}, "closed", "is closed and takes no more answers. Nothing was asked or sent"),
        ({}, "closing", "is closed and takes no more answers"),
        ({"closes": "2025-03-01T12:00:00Z"}, None, "is closed and takes no more answers"),
        ({"closes": "2025-03-01T12:00:00Z"}, "over", "is closed and takes no more answers"),
    ],
)
def test_a_survey_that_takes_no_answers_asks_for_none(
    call, server, steps, link, draft, path, dates, state, words
):
    """Guards: consent and answers were asked for, and then the report was refused."""
    survey = Manifest.from_dict(draft | dates).resolve()
    headers = None if state is None else {"Survey-State": state}
    server.play(steps.respond(200, survey.canonical, headers=headers))
    code, out, err = call("answer", link, typed=TYPED)
    assert (code, out, len(server.seen), path.exists()) == (1, "", 1, False)
    assert words in err
    assert "Do you agree?" not in err


def test_the_servers_clock_says_whether_a_survey_is_open_and_else_the_devices(
    call, server, steps, link, draft
):
    survey = Manifest.from_dict(draft | {"closes": "2025-03-01T12:00:00Z"}).resolve()
    server.play(steps.respond(200, survey.canonical, headers={"Survey-State": "open"}))
    code, _, err = call("answer", link, typed="y\n")
    assert (code, "Nothing was randomised, spent or sent." in err) == (1, True)
    server.seen.clear()
    # the survey is kept since consent was given, so that the server is asked nothing
    code, _, err = call("answer", link, typed=TYPED[2:])
    assert (code, "is closed and takes no more answers" in err, server.seen) == (1, True, [])


# ---- the ledger


@pytest.fixture
def answered(call, offer, server, steps, link, published):
    offer(published, steps.respond(201, ACCEPTED))
    assert call("answer", link, typed=TYPED)[0] == 0


def test_the_ledger_shows_what_was_spent(call, answered, server, published):
    code, out, _ = call("ledger", "show")
    assert code == 0
    for part in (
        f"{SURVEY} of {server.url}",
        f"epsilon 4: {SURVEY} v1, accepted  sha256={published.digest}",
        "epsilon spent in all: 4",
    ):
        assert part in out
    code, out, _ = call("ledger", "show", "--json")
    assert "report" not in json.loads(out)["answers"][0]


def test_export_of_the_ledger_has_all_rows(call, answered, path, tmp_path):
    (entry,) = Ledger.open(path).entries()
    code, out, _ = call("ledger", "export")
    document = json.loads(out)
    assert (code, document["answers"][0]["id"]) == (0, entry.id)
    assert document["answers"][0]["report"] is None
    assert "Do you" not in document["consents"][0]["statement"]
    file = tmp_path / "mine.json"
    assert call("ledger", "export", "--out", str(file))[0] == 0
    assert json.loads(file.read_text()) == document
    assert file.stat().st_mode & 0o777 == 0o600


def test_withdrawal_without_an_answer_is_asked_again_by_send(call, answered, server, steps, path):
    server.play(steps.drop, steps.drop)
    code, out, _ = call("ledger", "withdraw", SURVEY)
    assert (code, "Reports whose server did not answer: 1" in out) == (0, True)
    code, out, _ = call("ledger", "show")
    assert f"not yet taken back: a report of {SURVEY} at {server.url}" in out
    server.play(steps.respond(200, {"status": "not-here"}))
    code, out, _ = call("ledger", "send")
    assert (code, "are no longer there (released), or were never received: 1" in out) == (0, True)
    bodies = {seen.body for seen in server.seen if seen.path.endswith("/withdrawals")}
    assert len(bodies) == 1, "the same bytes each time"
    assert Ledger.open(path).withdrawals.pending() == []


def test_ledger_says_which_reports_cannot_be_taken_back(call, answered, server, path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET secret = NULL")
    connection.close()
    code, out, _ = call("ledger", "show")
    assert (code, "cannot be taken back: an earlier release made it" in out) == (0, True)
    before = len(server.seen)
    code, out, _ = call("ledger", "withdraw", SURVEY)
    assert (code, "Reports that cannot be taken back" in out) == (0, True)
    assert len(server.seen) == before


def test_withdrawing_leaves_a_tombstone(
    call, offer, answered, server, steps, link, path, published
):
    server.play(steps.respond(200, {"status": "deleted"}))
    code, out, _ = call("ledger", "withdraw", SURVEY, "--json")
    told = {**NOTHING_TAKEN_BACK, "deleted": 1}
    assert (code, json.loads(out)) == (0, {"survey": SURVEY, "wiped": 1, **told})
    assert server.seen[-1].path == f"/api/v1/surveys/{SURVEY}/withdrawals"
    code, out, _ = call("ledger", "show")
    assert "a withdrawn survey, withdrawn" in out
    assert "epsilon spent in all: 4" in out
    assert SURVEY not in out.replace(str(path), "")
    offer(published)
    code, _, err = call("answer", link, typed=TYPED)
    assert (code, "was withdrawn; it is not given again" in err) == (1, True)
    assert "Do you agree" not in err
    code, out, _ = call("ledger", "show")
    assert "agreed " not in out
    code, _, err = call("ledger", "withdraw", "nobody")
    assert (code, "'nobody' is no survey" in err) == (1, True)


@pytest.mark.parametrize("command", [("show",), ("export",), ("send",), ("withdraw", "x")])
def test_missing_ledger_is_named(call, path, command):
    code, _, err = call("ledger", *command)
    assert (code, "there is no ledger at" in err) == (1, True)
    assert not path.exists()


def test_a_survey_is_asked_in_another_language_and_answered_in_its_own_codes(
    call, offer, server, steps, path
):
    published = Manifest.from_dict(WORDED).resolve()
    offer(published, steps.respond(201, ACCEPTED))
    link = f"{server.url}/s/worded"
    code, _, err = call("answer", link, "--language", "de", typed="y\ngut\n30\n10\ny\n")
    assert code == 0, err
    for words in ("Wie geht es?", "The Institute", "Heute", "Wie geht es Ihnen?", "3  gut"):
        assert words in err
    assert "Enter skips: keine Angabe" in err
    assert "How are you?" not in err
    assert "score: 10" in err  # the preview of what is sent in clear
    report = Report.from_json(server.seen[2].body)
    assert report.record[-1] == 10
    assert "Also in: en, zh-Hans" in err


def test_the_operator_and_the_purpose_are_read_and_kept_with_the_consent(call, offer, server, path):
    published = Manifest.from_dict(WORDED).resolve()
    purpose = f"Asked by: The Institute\nPurpose: {published.wording('de').purpose}"
    offer(published)
    link = f"{server.url}/s/worded"
    _, _, err = call("answer", link, "--language", "de", typed="n\n")
    assert purpose in err[: err.index("Do you agree")]
    offer(published)
    call("answer", link, "--language", "de", typed="y\n")
    (kept,) = json.loads(call("ledger", "export")[1])["consents"]
    assert purpose in kept["statement"]


def test_a_language_that_a_survey_does_not_have_is_refused(call, server, steps, published, link):
    server.play(steps.respond(200, published.canonical))
    code, _, err = call("answer", link, "--language", "de", typed="y\n")
    assert code == 1
    assert "is not written in 'de'" in err
    assert "Do you agree" not in err
    assert len(server.seen) == 1


def test_invitation_is_redeemed_once_it_is_agreed_to_and_its_token_goes_with_the_report(
    call, server, steps, link, published, path, monkeypatch
):
    key = voprf.DeriveKeyPair(bytes(32), key_info(SURVEY, 1))
    invited = replace(published, submission="invited", invitation_key=b64encode(key.pkS))
    monkeypatch.setattr(answer, "AT_A_TERMINAL", replace(answer.AT_A_TERMINAL, parting=0.0))

    def evaluate(handler) -> None:
        _, blinded = parse_redemption(json.loads(server.seen[-1].body))
        steps.respond(200, encode_evaluation(*voprf.BlindEvaluate(key, blinded)))(handler)

    fetched = [steps.respond(200, invited.canonical)] * 2
    server.play(*fetched, evaluate, steps.respond(201, ACCEPTED))
    code, _, err = call(
        "answer", f"{link}#sha256={invited.digest}&invitation={'i' * 43}", typed=TYPED
    )
    assert code == 0, err
    redemption, report = server.seen[2:]
    assert redemption.headers["Authorization"] == f"Bearer {'i' * 43}"
    token = Token.from_text(report.headers["Authorization"].removeprefix("Bearer "))
    assert token is not None
    assert voprf.Evaluate(key, token.input) == token.output
    assert "not linkable from what is stored" in " ".join(err.split())
    # The device keeps neither invitation nor token once it has answered.
    assert b"i" * 43 not in path.read_bytes()
    assert report.headers["Authorization"].removeprefix("Bearer ").encode() not in path.read_bytes()
    assert "The report leaves at a random moment" in err
    # Asked again, nothing leaves any more, and nothing says so.
    server.play(steps.respond(200, invited.canonical))
    code, _, err = call("answer", f"{link}#sha256={invited.digest}", typed="")
    assert (code, "its one report stands" in err, "random moment" in err) == (0, True, False)
