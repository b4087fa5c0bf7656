from __future__ import annotations

import json

import pytest

from hushpoll_protocols import (
    BudgetExhausted,
    HushpollError,
    InvalidParameter,
    MalformedRecord,
    ManifestRefused,
    TransportError,
)
from hushpoll_shared.spelling.canonical import InvalidJson
from hushpoll_shared.wire.problems import PROBLEMS, exception_from, problem_document, problem_from

# What other parts, other languages and the documentation rely on: a change here breaks them.
TABLE = {
    "invalid-json": (400, False),
    "malformed-request": (400, False),
    "request-timeout": (408, True),
    "invalid-request": (422, False),
    "malformed-report": (422, False),
    "manifest-refused": (422, False),
    "hardly-protected": (422, False),
    "unauthorized": (401, False),
    "forbidden": (403, False),
    "survey-not-open": (403, False),
    "unknown-survey": (404, False),
    "unknown-digest": (404, False),
    "not-found": (404, False),
    "method-not-allowed": (405, False),
    "report-conflict": (409, False),
    "token-spent": (409, False),
    "invitation-redeemed": (409, False),
    "version-exists": (409, False),
    "draft-changed": (412, False),
    "etag-needed": (428, False),
    "not-enough-reports": (409, False),
    "not-released": (409, False),
    "survey-not-over": (409, False),
    "results-taken-back": (410, False),
    "job-not-done": (409, False),
    "job-cancelled": (409, False),
    "job-timed-out": (409, False),
    "job-out-of-memory": (409, False),
    "too-many-jobs": (429, True),
    "records-deleted": (410, False),
    "missing-extra": (501, False),
    "survey-closed": (410, False),
    "payload-too-large": (413, False),
    "unsupported-media-type": (415, False),
    "rate-limited": (429, True),
    "internal": (500, True),
    "unavailable": (503, True),
}


def test_the_table() -> None:
    assert {
        code: (problem.status, problem.retryable) for code, problem in PROBLEMS.items()
    } == TABLE
    for code, problem in PROBLEMS.items():
        assert problem.code == code
        assert problem.urn == f"urn:hushpoll:problem:{code}"
        assert problem.title
        assert problem.remedy.endswith(".")


def test_a_document_is_problem_json() -> None:
    document = problem_document("malformed-report", detail="age: no", field="age", reason="range")
    assert document == {
        "type": "urn:hushpoll:problem:malformed-report",
        "title": "The report is malformed",
        "status": 422,
        "detail": "age: no",
        "code": "malformed-report",
        "remedy": PROBLEMS["malformed-report"].remedy,
        "retryable": False,
        "field": "age",
        "reason": "range",
    }
    assert "field" not in problem_document("not-found", detail="nothing")


def test_an_extra_member_does_not_replace_one_of_the_table() -> None:
    with pytest.raises(InvalidParameter) as caught:
        problem_document("not-found", detail="nothing", status=200)
    assert caught.value.field == "status"


ERRORS: list[tuple[HushpollError, str]] = [
    (InvalidJson("not JSON"), "invalid-json"),
    (InvalidParameter("name is 'X'", field="name"), "invalid-request"),
    (MalformedRecord("age: no", reason="padding", field="age"), "malformed-report"),
    (MalformedRecord("33 bytes", reason="length"), "malformed-report"),
    (ManifestRefused("it lies", field="epsilon"), "manifest-refused"),
]


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_an_exception_travels_to_the_other_side(error: HushpollError, code: str) -> None:
    document = json.loads(json.dumps(problem_from(error)))
    assert document["code"] == code
    arrived = exception_from(document, document["status"])
    assert isinstance(error, type(arrived))
    assert str(error) in str(arrived)
    assert getattr(arrived, "reason", None) == getattr(error, "reason", None)
    if code != "invalid-json":
        assert getattr(arrived, "field", None) == getattr(error, "field", None)


@pytest.mark.parametrize("error", [BudgetExhausted("secret"), HushpollError("secret")])
def test_an_error_without_a_row_is_internal_and_says_nothing(error: HushpollError) -> None:
    document = problem_from(error)
    assert document["code"] == "internal"
    assert "secret" not in json.dumps(document)


@pytest.mark.parametrize("code", TABLE)
def test_every_problem_becomes_an_exception_of_ours(code: str) -> None:
    document = problem_document(code, detail="what happened", field="f")
    error = exception_from(document, document["status"])
    message = str(error)
    assert PROBLEMS[code].title in message
    assert "what happened" in message
    assert PROBLEMS[code].remedy in message
    assert "field f" in message
    if isinstance(error, TransportError):
        assert (error.status, error.retryable) == TABLE[code]
        assert error.problem == document
    else:
        assert TABLE[code][0] in {400, 422}


@pytest.mark.parametrize("code", ["invalid-request", "manifest-refused"])
def test_a_refused_field_has_the_remedy_of_its_own_detail(code: str) -> None:
    """Guards: each of these ended with "Remedy: Correct the named field."."""
    document = problem_document(code, detail="n is 0; give a whole number from 1", field="n")
    assert document["remedy"] == "Give a whole number from 1."
    message = str(exception_from(document, 422))
    assert message.endswith("n is 0; give a whole number from 1")
    assert problem_document(code, detail="n is 0", field="n")["remedy"] == PROBLEMS[code].remedy


def test_a_remedy_is_said_once() -> None:
    """Guards: after a detail that ended with its remedy, that of the table followed."""
    detail = "no survey is named 'x'; list the surveys"
    document = problem_document("unknown-survey", detail=detail, field="name")
    assert str(exception_from(document, 404)) == (
        f"No such survey or version (HTTP 404, field name): {detail}"
    )


def test_a_refused_token_is_told_without_its_header() -> None:
    detail = "this needs a token of scope 'read'; ask an administrator for another"
    document = problem_document("forbidden", detail=detail, field="Authorization")
    assert str(exception_from(document, 403)) == (
        f"The token does not allow this (HTTP 403): {detail}"
    )


def test_a_survey_that_hardly_protects_is_told_with_both_remedies() -> None:
    document = problem_document("hardly-protected", detail="epsilon is 20; lower it")
    message = str(exception_from(document, 422))
    assert "lower it" in message
    assert "--allow-weak" in message


@pytest.mark.parametrize("detail", ["try again", "try again."])
def test_detail_and_remedy_are_two_sentences(detail: str) -> None:
    document = problem_document("unavailable", detail=detail)
    remedy = PROBLEMS["unavailable"].remedy
    assert str(exception_from(document, 503)).endswith(f": try again. Remedy: {remedy}")


@pytest.mark.parametrize(
    ("document", "status", "retryable"),
    [
        (None, 503, True),
        (None, 502, True),
        (None, 404, False),
        (None, 418, False),
        ([], 500, True),
        ("<html>", 400, False),
        ({"type": "urn:other:thing", "title": "Other"}, 429, True),
        ({"type": 3, "title": None, "detail": ["x"], "field": {}}, 403, False),
    ],
)
def test_unknown_problem_is_judged_by_its_status(
    document: object, status: int, retryable: bool
) -> None:
    error = exception_from(document, status)
    assert isinstance(error, TransportError)
    assert (error.status, error.retryable) == (status, retryable)
    assert f"HTTP {status}" in str(error)


def test_a_servers_text_is_cut_and_cannot_move_the_cursor() -> None:
    error = exception_from(
        {"type": "urn:hushpoll:problem:not-found", "detail": "\x1b[2J\r\n" + "x" * 10_000}, 404
    )
    assert str(error).isprintable()
    assert len(str(error)) < 1000
