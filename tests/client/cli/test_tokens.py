"""``hushpoll token``, and the respondents' tokens of ``hushpoll survey``, with a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli import surveys
from hushpoll_client.cli.commandline import main
from hushpoll_client.config import ClientConfig
from hushpoll_client.device.survey_client import SurveyClient
from hushpoll_fleet.demo.processes import Server
from hushpoll_protocols.errors import TransportError

HASTY = ClientConfig(attempts=1)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def call(server, capsys, monkeypatch):
    monkeypatch.setenv("HUSHPOLL_URL", server.url)
    monkeypatch.setenv("HUSHPOLL_TOKEN", server.token)

    def call(*arguments: str, of: str = "token") -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([of, *arguments])
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return call


def works(server, token) -> bool:
    with AnalystClient(server.url, token, config=HASTY) as client:
        try:
            client.surveys()
        except TransportError as error:
            if error.status != 401:
                raise
            return False
    return True


def test_a_token_is_issued_listed_rotated_and_revoked(server, call):
    code, out, err = call("issue", "--scope", "read", "--scope", "train", "--label", "nightly")
    assert (code, err) == (0, "")
    token, token_id = re.fullmatch(r"token: (hp_\S+)\nid: ([0-9a-f]{16})\n", out).groups()
    assert works(server, token)

    code, out, _ = call("list")
    assert re.search(
        rf"{token_id}  valid  read,train  last used (never|\d{{4}}-\d\d-\d\d)  nightly\n", out
    )
    assert token.split("_", 2)[2] not in out

    code, out, _ = call("rotate", token_id, "--overlap", "0", "--json")
    successor = json.loads(out)
    assert successor["replaces"] == token_id
    assert not works(server, token)
    assert works(server, successor["token"])

    assert call("revoke", successor["id"]) == (0, f"{successor['id']} is revoked\n", "")
    assert not works(server, successor["token"])
    states = {one["id"]: one["state"] for one in json.loads(call("list", "--json")[1])["tokens"]}
    assert (states[token_id], states[successor["id"]]) == ("expired", "revoked")


def test_rotating_says_until_when_the_old_token_is_valid(call):
    issued = json.loads(call("issue", "--scope", "read", "--expires-in", "60", "--json")[1])
    code, out, _ = call("rotate", issued["id"])
    assert code == 0
    assert f"\nexpires at: {issued['expires_at']}\n" in out
    assert out.endswith(f"\n{issued['id']} is valid until {issued['expires_at']}\n")


def test_respondents_links_are_written_spent_and_counted(
    server, call, draft, answers, tmp_path, monkeypatch
):
    with AnalystClient(server.url, server.token, config=HASTY) as client:
        client.publish(draft | {"name": "panel", "submission": "token", "release": "immediate"})
    # several requests, as of more tokens than a server issues at once
    monkeypatch.setattr(surveys, "_MOST_TOKENS", 2)
    file = tmp_path / "links.txt"
    asked = ("issue-tokens", "panel", "--count", "3", "--links", "--out", str(file))
    assert call(*asked, of="survey") == (0, f"3 links of panel in {file}\n", "")
    links = file.read_text().splitlines()
    assert len({link.partition("&token=")[2] for link in links}) == 3
    assert file.stat().st_mode & 0o077 == 0
    with SurveyClient.from_link(links[1], config=HASTY) as respondent:
        assert respondent.submit(answers).status == "accepted"
    counts = "tokens of panel: 2 unspent, 1 spent\n"
    assert call("tokens", "panel", of="survey") == (0, counts, "")
    printed = json.loads(call("issue-tokens", "panel", "--count", "1", "--json", of="survey")[1])
    assert (printed["count"], len(printed["tokens"])) == (1, 1)
    assert json.loads(call("tokens", "panel", "--json", of="survey")[1])["unspent"] == 3


def test_tokens_that_were_issued_before_a_fault_are_kept(call, tmp_path, monkeypatch):
    def broken(_client: AnalystClient, _name: str, count: int) -> list[str]:
        if issued:
            raise TransportError("the connection broke", retryable=True)
        issued.append(count)
        return ["a" * 43] * count

    issued: list[int] = []
    monkeypatch.setattr(surveys, "_MOST_TOKENS", 2)
    monkeypatch.setattr(AnalystClient, "mint_tokens", broken)
    file = tmp_path / "tokens.txt"
    code, out, err = call("issue-tokens", "panel", "--count", "5", "--out", str(file), of="survey")
    assert (code, out) == (4, f"2 tokens of panel in {file}\n")
    assert "the connection broke" in err
    assert file.read_text() == f"{'a' * 43}\n" * 2


def test_a_survey_without_tokens_issues_none_and_says_so(server, call, draft):
    with AnalystClient(server.url, server.token, config=HASTY) as client:
        client.publish(draft | {"name": "open-to-all"})
    code, _, err = call("issue-tokens", "open-to-all", "--count", "1", of="survey")
    assert (code, "publish a version with submission 'token'" in err) == (1, True)
    code, out, _ = call("tokens", "open-to-all", of="survey")
    assert (code, out) == (
        0,
        "open-to-all takes no tokens: anybody who has its link can answer\n",
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["issue", "--scope", "root"], "scopes"),
        (["rotate", "0" * 16], "no token has this id"),
        (["revoke", "0" * 16], "no token has this id"),
        (["rotate", "nonsense"], "token_id"),
    ],
)
def test_a_refusal_is_one_line(call, arguments, words):
    code, out, err = call(*arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert err.count("\n") == 1


def test_without_a_token_nothing_is_asked(call, monkeypatch):
    monkeypatch.delenv("HUSHPOLL_TOKEN")
    code, _, err = call("list")
    assert code == 2
    assert "HUSHPOLL_TOKEN" in err
