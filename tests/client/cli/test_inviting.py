"""``hushpoll survey invite --from`` and ``survey remind``, against a scripted server."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from client.whole_documents import job_document
from hushpoll_client.cli.commandline import main
from hushpoll_shared.spelling.base64url import b64encode

SURVEY = "work-and-health"
DONE = job_document("0" * 32, "done", kind="invite")
SENT = {"survey": SURVEY, "version": 1, "sent": 2, "refused": 1, "later": 0, "redeemed": 0}


@pytest.fixture
def call(server, capsys, monkeypatch):
    monkeypatch.setenv("HUSHPOLL_URL", server.url)
    monkeypatch.setenv("HUSHPOLL_TOKEN", "hp_x_y")

    def run(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["survey", *arguments])
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return run


@pytest.fixture
def invited(published):
    return replace(published, submission="invited", invitation_key=b64encode(bytes(32)))


def test_people_of_a_table_are_invited_with_own_texts(call, server, steps, invited, tmp_path):
    people, texts = tmp_path / "people.csv", tmp_path / "texts.json"
    people.write_text("address,name\na@example.org,Ada\nb@example.org,\n")
    own = {"en": {"subject": "Hello", "body": "{link}"}}
    texts.write_text(json.dumps(own))
    server.play(
        steps.respond(200, invited.canonical), steps.respond(202, DONE), steps.respond(200, SENT)
    )
    code, out, err = call("invite", SURVEY, "--from", str(people), "--texts", str(texts))
    assert (code, err) == (0, "")
    assert out == f"invitations to {SURVEY}: 2 mails sent, 1 refused by the mail server\n"
    assert server.seen[1].path.endswith(f"/surveys/{SURVEY}/versions/1/jobs/invite")
    assert json.loads(server.seen[1].body) == {
        "people": [{"address": "a@example.org", "name": "Ada"}, {"address": "b@example.org"}],
        "texts": own,
    }


def test_wrong_table_is_refused_before_anything_is_sent(call, server, steps, invited, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("address\na@example.org\nb@example\n")
    server.play(steps.respond(200, invited.canonical))
    code, _, err = call("invite", SURVEY, "--from", str(people))
    assert code == 1
    assert "row 2 (line 3), column address" in " ".join(err.split())
    assert len(server.seen) == 1


def test_links_and_mails_are_asked_for_apart(call, server, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("address\na@example.org\n")
    for arguments in ((), ("--count", "2", "--from", str(people))):
        code, _, err = call("invite", SURVEY, *arguments)
        assert (code, "Give one of" in err) == (2, True)
    assert not server.seen


def test_reminders_are_asked_for_and_not_waited_for(call, server, steps):
    queued = {**DONE, "state": "queued"}
    server.play(steps.respond(202, queued))
    code, out, err = call("remind", SURVEY, "--version", "1", "--timeout", "0")
    assert (code, err) == (0, "")
    assert f"hushpoll job show {'0' * 32}" in out
    assert server.seen[0].path.endswith("/jobs/remind")


MAIL = {"language": "en", "sender": "", "recipient": "Ada <ada@example.org>", "subject": "Hello"}


def test_mails_are_shown_and_none_is_sent(call, server, steps, invited, tmp_path):
    people, texts = tmp_path / "people.csv", tmp_path / "texts.yaml"
    people.write_text("address\na@example.org\n")
    texts.write_text("en:\n  subject: Hello\n  body: |\n    {greeting}\n\n    {link}\n")
    body = "Hello Ada,\n\nError: \x1b[2Jhttps://polls.example.com/s/work#x\n"
    server.play(
        steps.respond(200, invited.canonical),
        steps.respond(200, {"mails": [{**MAIL, "body": body}]}),
    )
    code, out, err = call(
        "invite", SURVEY, "--preview", "--from", str(people), "--texts", str(texts)
    )
    assert (code, err) == (0, "")
    assert out == (
        "Nothing was sent. The person and the link are made up.\n\nen\n"
        "  From: (the server has no mail_sender)\n  To: Ada <ada@example.org>\n"
        "  Subject: Hello\n\n  Hello Ada,\n\n"
        "  Error:  [2Jhttps://polls.example.com/s/work#x\n"
    )
    assert server.seen[1].path.endswith(f"/surveys/{SURVEY}/versions/1/mail-previews")
    own = {"en": {"subject": "Hello", "body": "{greeting}\n\n{link}\n"}}
    assert json.loads(server.seen[1].body) == {
        "people": [{"address": "a@example.org"}],
        "reminder": False,
        "texts": own,
    }


def test_preview_of_reminders_is_json_as_the_server_gave_it(call, server, steps):
    mails = [{**MAIL, "body": "one\ntwo\n"}]
    server.play(steps.respond(200, {"mails": mails}))
    code, out, _ = call("remind", SURVEY, "--version", "1", "--preview", "--json")
    assert code == 0
    assert json.loads(out) == {"survey": SURVEY, "version": 1, "mails": mails}
    assert json.loads(server.seen[0].body) == {"reminder": True}


def test_preview_of_a_wrong_table_and_of_links_is_refused(call, server, steps, invited, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("address\na@example\n")
    server.play(steps.respond(200, invited.canonical))
    code, _, err = call("invite", SURVEY, "--preview", "--from", str(people))
    assert (code, len(server.seen)) == (1, 1)
    assert "row 1 (line 2), column address" in " ".join(err.split())
    code, _, err = call("invite", SURVEY, "--preview", "--count", "2")
    assert (code, "--preview" in err) == (2, True)
