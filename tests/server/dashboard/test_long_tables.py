"""Questions with very many answers: warned of before publishing, and cut on pages."""

from __future__ import annotations

import re

import pytest

from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.tables.top_rows import MOST_ROWS
from sample_survey import SURVEYS, encoded, make_draft

pytestmark = pytest.mark.sqlite
WIDE = {"name": "income", "role": "sensitive", "protocol": "OLH", "range": [0, 999]}


@pytest.fixture
def filled(site):
    published = site.publish(attributes=[WIDE], epsilon="1", protected=None, minimum_batch=1)
    for answer in range(20):
        site.send(published, encoded(published, {"income": str(answer)}))
    site.services.sealing.sweep(site.services.surveys.now())
    return site


def test_publishing_warns_of_a_question_with_more_answers_than_it_can_show(site):
    wide = {**WIDE, "range": [0, 10_000]}
    draft = make_draft(attributes=[wide], epsilon="1", protected=None, minimum_batch=100)
    (warning,) = [
        one
        for one in site.post(SURVEYS, json=draft).json["warnings"]
        if one["code"] == "too-many-categories"
    ]
    assert warning["attribute"] == "income"
    assert 'categories: ["0 to 999", ' in warning["message"]


def test_estimates_and_weighted_shares_show_the_largest_rows_and_files_all(filled, visit):
    ada = visit("ada", work="editor")
    page = ada.get("/surveys/work/versions/1/estimates").text
    lines = re.findall(r'<tr><th scope="row"><bdi>\d+</bdi>', page)
    assert len(lines) == MOST_ROWS
    assert f"The {1_000 - MOST_ROWS} others, with smaller estimates, together" in page
    file = ada.get("/surveys/work/versions/1/estimates/income.csv").text
    assert len(file.strip().split("\n")) > 1_000
    report = ada.get("/surveys/work/versions/1/report-file?rows=&columns=").text
    assert len(re.findall(r'<tr><th scope="row"><bdi>\d+</bdi>', report)) == MOST_ROWS
    assert f"The {1_000 - MOST_ROWS} others, with smaller estimates, together" in report


def test_draft_warns_for_the_respondents_that_are_expected(site, visit):
    ada = visit("ada", every="editor")
    draft = make_draft(attributes=[WIDE], epsilon="1")
    del draft["protected"]
    fields = {"from": "yaml", "yaml": write_yaml(draft)}
    answer = ada.send("/drafts/new", on="/drafts/new", **fields)
    path = answer.headers["Location"].removeprefix("/dashboard")
    page = ada.get(f"{path}?beside=now").text
    assert "With 10,000 reports and epsilon 1, income cannot tell" in page
    few = ada.get(f"{path}?n=500&beside=now").text
    assert "With 500 reports and epsilon 1, income cannot tell" in few
    assert "income cannot tell" not in ada.get(f"{path}?n=100000000&beside=now").text
