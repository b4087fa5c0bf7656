"""What holds for every statistic's route: its line in the action log, the fields of refusals."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from asked_queries import ASKED, MARGIN, SECOND

pytestmark = pytest.mark.sqlite

OPENAPI = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"
PREFIX = "/api/v1/surveys/{name}/versions/{version}/"
# Parameters that name an attribute; a refusal of each names it, or another one of the request.
NAMES = ("a", "attribute", "attributes", "b", "given", "of", "since_attribute")


def documented():
    """The statistics of the API's document: what a version answers as JSON or as a table."""
    paths = json.loads(OPENAPI.read_text(encoding="utf-8"))["paths"]
    return {
        path.removeprefix(PREFIX): operation
        for path, operations in paths.items()
        for operation in operations.values()
        if path.startswith(PREFIX)
        and {"text/csv", "application/json"}
        <= set(operation["responses"].get("200", {}).get("content", ()))
    }


def ask(site, statistic, asked):
    if statistic == "weighted-shares":
        return site.post(f"{SECOND}/{statistic}", json=asked)
    return site.get(f"{SECOND}/{statistic}", query_string=asked)


@pytest.fixture
def answering(site):
    """A site with two versions whose reports are sealed."""
    for version in (1, 2):
        site.fill(site.publish(version=version), 30)
        site.seal()
    return site


def test_every_statistic_of_the_document_is_asked_here():
    # The table of all results asks the statistics themselves; see test_tidy_results.py.
    assert set(ASKED) == set(documented()) - {"tidy-results"}


@pytest.mark.parametrize("statistic", ASKED)
def test_look_is_logged_by_the_name_of_its_statistic_alone(answering, statistic):
    answer = ask(answering, statistic, ASKED[statistic])
    assert answer.status_code == 200, answer.json
    looks = {line.act for line in answering.services.actions.newest(100) if "looked" in line.act}
    assert looks == {f"looked-at-{statistic}"}


def bad(statistic):
    """Requests with an unknown attribute in each place, and with the same one in two."""
    asked = ASKED[statistic]
    named = [name for name in NAMES if name in asked]
    yield from (asked | {name: "nothing"} for name in named)
    yield from (asked | {second: asked[first]} for first, second in pairwise(named))
    if statistic == "weighted-shares":
        yield asked | {"design": {"margins": [{**MARGIN, "attributes": ["nothing"]}]}}


@pytest.mark.parametrize("statistic", [name for name in ASKED if list(bad(name))])
def test_refusal_names_a_field_that_the_request_has(answering, statistic):
    for asked in bad(statistic):
        answer = ask(answering, statistic, asked)
        status, code, field = answering.problem(answer)
        assert (status, code) == (422, "invalid-request"), asked
        fields = [*asked, *asked.get("design", ())]
        assert field.partition("[")[0] in fields, (asked, answer.json)
