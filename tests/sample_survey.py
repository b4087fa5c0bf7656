"""The survey that the server's tests publish, a report of it, and the addresses of both."""

from __future__ import annotations

import copy
import json
from typing import Any

from hushpoll_protocols import SecureBits
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.withdrawals import id_of, new_secret

DRAFT: dict[str, Any] = {
    "name": "work",
    "version": 1,
    "title": "Work and health",
    "epsilon": "4",
    "protocol": "GRR",
    "minimum_batch": 3,
    "release": "immediate",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {
            "name": "age",
            "role": "sensitive",
            "protocol": "OUE",
            "categories": [f"{low}s" for low in range(10, 80, 10)],
            "missing": "none of yours",
        },
        {"name": "country", "role": "sensitive", "protocol": "SS", "range": [1, 5]},
        {"name": "education", "role": "plain", "categories": ["low", "middle", "high"]},
        {"name": "income", "role": "target", "categories": ["poor", "rich"], "positive": "rich"},
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
}
ANSWERS = {
    "gender": "Male",
    "age": "30s",
    "country": "4",
    "education": "high",
    "income": "rich",
}
SURVEYS = "/api/v1/surveys"
REPORTS = "/api/v1/surveys/work/reports"
VERSION = "/api/v1/surveys/work/versions/1"


def make_draft(**changes: Any) -> dict[str, Any]:
    """A valid manifest with changes at its top level."""
    return {**copy.deepcopy(DRAFT), **changes}


def make_report(published: Published, **changes: str | None) -> wire.Report:
    """A report of one respondent, with changed answers; of another survey, with answers to it."""
    answers = {**ANSWERS, **changes}
    asked = {one.name: answers[one.name] for one in published.attributes}
    return encoded(published, asked)


def encoded(published: Published, answers: dict[str, Any]) -> wire.Report:
    """A report of a respondent who gives these answers."""
    codes = published.layout.code_answers(answers)
    return wire.Report(wire.new_report_id(), published.layout.encode(codes, SecureBits()))


def with_secret(published: Published, **changes: str | None) -> tuple[wire.Report, bytes]:
    """A report that can be withdrawn, and the secret that withdraws it."""
    secret = new_secret()
    return wire.Report(id_of(secret), make_report(published, **changes).record), secret


def body_of(published: Published, report: wire.Report | None = None) -> dict[str, Any]:
    """The JSON body that a device sends, by default of a new report."""
    return wire.encode_report_json(published.digest, report or make_report(published))


def bytes_of(published: Published, report: wire.Report | None = None) -> bytes:
    """The same body as bytes."""
    return json.dumps(body_of(published, report)).encode()


def bearer(token: str) -> dict[str, str]:
    """The header by which an analyst or a respondent shows a token."""
    return {"Authorization": f"Bearer {token}"}
