"""The page of estimates for the people of one group."""

from __future__ import annotations

import csv
import io
from urllib.parse import urlencode

import numpy as np
import pytest

import sample_survey
from hushpoll_protocols import ReplayBits
from hushpoll_shared.qualifying.possible import shown_share

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"


@pytest.fixture
def filled(release_two_groups, monkeypatch):
    # Secure bits leave a group that may be empty, whose shares are not told, once in a while.
    bits = ReplayBits(
        np.random.default_rng(1).integers(2**64, size=20_000, dtype=np.uint64).tolist()
    )
    monkeypatch.setattr(sample_survey, "SecureBits", lambda: bits)
    return release_two_groups(("work", 1))


def address(form="", **query):
    return f"{WORK}/estimates{form}?{urlencode(query)}"


def shares_of_all(site, of, given):
    path = f"/api/v1/surveys/work/versions/1/conditional-shares?of={of}&given={given}"
    return site.get(path).json["shares"]


def share_of_all(site, of, category):
    questions = site.get("/api/v1/surveys/work/versions/1/estimates").json["attributes"]
    (question,) = (one for one in questions if one["name"] == of)
    (row,) = (one for one in question["categories"] if one["category"] == category)
    return f"{100 * row['frequency']:.1f}&nbsp;%".replace("-0.0", "0.0")


# Both perturbed, then one of the two.
@pytest.mark.parametrize(
    ("of", "given", "group"),
    [("age", "gender", "Female"), ("income", "age", "50s"), ("age", "income", "rich")],
)
def test_shares_among_a_group_are_those_of_the_api(filled, visit, of, given, group):
    shares = [share for share in shares_of_all(filled, of, given) if share["group"] == group]
    visitor = visit("ada", work="analyst")
    query = {"attribute": of, "among": given, "group": group}
    text = visitor.get(address(**query)).text
    assert f"among <bdi>{given} {group}</bdi>" in text
    # The size of a group is a headline only where it can be told.
    all_shares = filled.get("/api/v1/surveys/work/versions/1/estimates").json
    assert (given in all_shares["verdict"]["too_noisy"]) == (
        "how many people they are is too noisy to tell" in text
    )
    size = f"an estimated {share_of_all(filled, given, group)} of all people"
    assert (size in text) == (given not in all_shares["verdict"]["too_noisy"])
    assert "may fall outside 0 to 100 %" in text
    known = 0
    for share in shares:
        if share["bound"] == "bounded":
            known += 1
            shown = shown_share(share)
            low, high = (f"{100 * shown[key]:.1f}&nbsp;%" for key in ("lower", "upper"))
            words = f"{low} to {high}".replace("-0.0", "0.0").replace("-", "\N{MINUS SIGN}")
            assert words in text, share
        else:
            assert f'interval">{share["bound"]}</td>' in text
    assert known
    assert text.count('role="img" aria-labelledby') == 1
    file = visitor.get(address(f"/{of}.csv", among=given, group=group))
    rows = list(csv.DictReader(io.StringIO(file.text)))
    assert {row["group"] for row in rows} == {group}
    assert len(rows) == len(shares)


def test_group_of_all_questions_shows_the_first_other_one(filled, visit):
    visitor = visit("ada", work="analyst")
    text = visitor.get(address(among="gender")).text
    assert '<option value="gender" selected>gender' in text
    assert "among <bdi>gender " in text
    # An estimator without an interval is none for groups.
    text = visitor.get(address(among="gender", estimator="projected")).text
    assert "<option selected>unbiased" in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"attribute": "age", "among": "age"}, "everybody"),
        ({"attribute": "age", "among": "income", "group": "Female"}, "among <bdi>income "),
    ],
)
def test_choice_of_another_question_is_as_if_not_made(filled, visit, query, words):
    page = visit("ada", work="analyst").get(address(**query))
    assert page.status_code == 200
    assert words in page.text
    assert "among <bdi>age" not in page.text


def test_wrong_question_is_named(filled, visit):
    page = visit("ada", work="analyst").get(address(among="nothing"))
    assert page.status_code == 422
    assert "nothing" in page.text


def test_group_is_shown_to_nobody_else(filled, visit):
    assert visit("bob", home="admin").get(address(among="gender")).status_code == 404


def test_survey_without_a_release_says_when_there_is_one(site, visit):
    site.publish(name="work", version=1)
    text = visit("ada", work="analyst").get(address(attribute="age", among="gender")).text
    assert "There are no estimates yet" in text
