"""Calls of an analyst about audits that a server keeps."""

from __future__ import annotations

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import InvalidParameter, TransportError

ID = "0123456789abcdef" * 2


@pytest.fixture
def analyst(server):
    with AnalystClient(server.url, "t0ken", config=ClientConfig(attempts=1)) as client:
        yield client


def test_audits_are_listed_and_another_answer_is_refused(server, steps, analyst):
    server.play(
        steps.respond(200, {"audits": [{"job": {"id": ID}}]}),
        steps.respond(200, {"audits": 3}),
    )
    assert analyst.audits("s", 1) == [{"job": {"id": ID}}]
    with pytest.raises(TransportError):
        analyst.audits("s", 1)
    assert {seen.path for seen in server.seen} == {"/api/v1/surveys/s/versions/1/audits"}
    with pytest.raises(InvalidParameter, match="id is"):
        analyst.delete_audit("../x")
