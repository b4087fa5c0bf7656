"""``hushpoll token`` against a server of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_client.config import ClientConfig
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

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["token", *arguments])
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
