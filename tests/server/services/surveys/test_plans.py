"""Plans over HTTP: the same verdicts as in Python, nothing stored, and mistakes named."""

import pytest

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_server.services.surveys import turns
from hushpoll_shared import Manifest
from hushpoll_shared.tables.plans import verdicts_table
from hushpoll_shared.tables.table_files import TABLE_FORMATS

pytestmark = pytest.mark.sqlite

PLANS = "/api/v1/plans"

DRAFT = {
    "name": "draft",
    "version": 1,
    "title": "Draft",
    "epsilon": "2",
    "protocol": "SS",
    "attributes": [
        {"name": "group", "role": "sensitive", "categories": ["F", "M"]},
        {"name": "region", "role": "sensitive", "range": [1, 6]},
    ],
    "protected": {"attribute": "group", "unprivileged": "F", "privileged": "M"},
}
WIDTH = {"kind": "width", "subject": "region", "value": 0.05}


def asked(site, **changes):
    body = {"manifest": DRAFT, "goals": [WIDTH], "n": 500} | changes
    return site.post(PLANS, json=body)


def test_plan_is_that_of_python_and_stores_nothing(site):
    audit = {"kind": "audit", "subject": "SPD", "value": None}
    answer = asked(site, goals=[WIDTH, audit], population={"positive": 0.2})
    expected = verdicts(
        Manifest.from_dict(DRAFT),
        [Goal("width", "region", 0.05), Goal("audit", "SPD")],
        n=500,
        given=AuditAssumptions(positive=0.2),
    )
    assert (answer.status_code, answer.json) == (200, expected)
    assert answer.json["verdict"].startswith("No: this survey cannot answer all that is wanted")
    assert answer.json["shuffled"]["local_epsilon"] == "2"
    assert site.get("/api/v1/surveys").json == {"surveys": []}


@pytest.mark.parametrize(
    ("form", "query", "accept"),
    [("csv", "?format=csv", "*/*"), ("csv", "", "text/csv"), ("xlsx", "?format=xlsx", "*/*")],
)
def test_plan_is_a_table_where_that_is_asked_for(site, form, query, accept):
    document = asked(site).json
    answer = site.post(
        PLANS + query,
        json={"manifest": DRAFT, "goals": [WIDTH], "n": 500},
        headers={**site.admin, "Accept": accept},
    )
    table = TABLE_FORMATS[form]
    assert (answer.status_code, answer.mimetype) == (200, table.media_type)
    assert f'filename="draft-plan.{form}"' in answer.headers["Content-Disposition"]
    if form == "csv":
        assert answer.data == table.encode(verdicts_table(document))
    else:
        assert answer.data.startswith(b"PK")


def test_plan_without_n_says_how_many_respondents_it_takes(site):
    answer = asked(site, n=None, epsilon="1").json
    assert (answer["answer"], answer["epsilon"]) == ("needs", "1")
    assert f"{answer['goals'][0]['n_needed']:,} respondents" in answer["verdict"]


def test_plan_that_waits_too_long_for_another_is_asked_to_come_back(site, monkeypatch):
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.01)
    with site.services.plans.turns.take():
        answer = asked(site)
    assert (answer.status_code, answer.json["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert asked(site).status_code == 200


def test_draft_of_very_many_categories_is_refused_before_it_is_read(site):
    ranges = [{"range": [1, 1 << 16]}] * 4
    for more, categories in (({"range": [5, 6]}, 2), ({"categories": ["x", "y", "z"]}, 3)):
        answer = asked(site, manifest=DRAFT | {"attributes": [*ranges, more]})
        assert (answer.status_code, answer.json["field"]) == (422, "attributes")
        assert f"declares {(1 << 18) + categories} categories together" in answer.json["detail"]
        assert "at most 262144; use hushpoll plan and" in answer.json["detail"]
    # as many as may be: the next mistake is found, an attribute without a name
    answer = asked(site, manifest=DRAFT | {"attributes": ranges})
    assert answer.json["field"] == "attributes[0].name"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"goals": []}, "goals"),
        ({"goals": [WIDTH] * 5}, "goals"),
        ({"goals": [WIDTH, WIDTH | {"value": 0.1}]}, "want"),
        ({"goals": [WIDTH | {"kind": "depth"}]}, "goals.0.kind"),
        ({"goals": [WIDTH | {"subject": "nothing"}]}, "attribute"),
        ({"goals": [WIDTH | {"value": 2}]}, "want"),
        ({"goals": [WIDTH | {"value": 0}]}, "goals.0.value"),
        ({"goals": [WIDTH | {"confidence": 0.9999999}]}, "goals.0.confidence"),
        ({"goals": [WIDTH | {"confidence": 0.001}]}, "goals.0.confidence"),
        ({"n": 0}, "n"),
        ({"delta": 1}, "delta"),
        ({"crowd": 501}, "crowd"),
        ({"epsilon": "100"}, "epsilon"),
        ({"population": {"positive": 0.95}}, "gap"),
        ({"manifest": DRAFT | {"epsilon": "-1"}}, "epsilon"),
        ({"manifest": {}}, "name"),
    ],
)
def test_each_mistake_names_its_field(site, changes, field):
    answer = asked(site, **changes)
    assert (answer.status_code, answer.json["field"]) == (422, field)
