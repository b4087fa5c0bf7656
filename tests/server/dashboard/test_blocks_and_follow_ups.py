"""Every page of a survey whose questions are randomised together, with follow-ups among them."""

import re

import numpy as np
import pytest

from hushpoll_protocols import SecureBits
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import encode_many
from sample_survey import VERSION
from server.dashboard.test_drafts import of_yaml

pytestmark = pytest.mark.sqlite
START = "/surveys/work/versions/1"
SURVEY = {
    "epsilon": "4",
    "protocol": "SS",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "amount", "role": "sensitive", "range": [1, 3], "ask_if": {"smokes": ["yes"]}},
        {"name": "years", "role": "sensitive", "range": [1, 2], "ask_if": {"smokes": ["yes"]}},
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "age", "role": "sensitive", "range": [1, 4]},
        {"name": "town", "role": "plain", "categories": ["a", "b"]},
    ],
    "together": [
        {"name": "habits", "attributes": ["smokes", "amount", "years"]},
        {"name": "who", "attributes": ["gender", "age"]},
    ],
}


QUESTIONNAIRE = {
    "epsilon": "6",
    "protocol": "SS",
    "attributes": [
        {
            "name": "drugs",
            "role": "sensitive",
            "question": "Which of these have you taken?",
            "categories": ["Cannabis", "Cocaine", "Other"],
            "select": {"at_most": 2},
            "want": "pairs",
        },
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "amount", "role": "sensitive", "range": [1, 3], "ask_if": {"smokes": ["yes"]}},
        {"name": "happy", "role": "sensitive", "range": [0, 10], "scale": "nps"},
        {
            "name": "income",
            "role": "sensitive",
            "protocol": "GRR",
            "number": {"low": 0, "high": 5000, "unit": "euros"},
        },
        {"name": "violence", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
    ],
    "together": [{"name": "pair", "attributes": ["violence", "gender"]}],
}
DRAWN = {
    "epsilon": "4",
    "protocol": "SS",
    "attributes": [
        {
            "name": "gender",
            "role": "sensitive",
            "categories": ["Female", "Male"],
            "missing": "not told",
        },
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "drinks", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "age", "role": "sensitive", "range": [1, 4]},
        {"name": "town", "role": "plain", "categories": ["a", "b"]},
    ],
    "draws": [{"name": "some", "blocks": ["smokes", "drinks", "age"], "answer": 1}],
}


@pytest.fixture
def released(site):
    published = site.publish(**SURVEY)
    n, rng = 600, np.random.default_rng(1)
    smokes = rng.integers(0, 2, n)
    codes = {
        "smokes": smokes,
        "amount": np.where(smokes == 1, rng.integers(0, 3, n), 3),
        "years": np.where(smokes == 1, rng.integers(0, 2, n), 2),
        "gender": rng.integers(0, 2, n),
        "age": rng.integers(0, 4, n),
        "town": rng.integers(0, 2, n),
    }
    rows = encode_many(published, codes, rng)
    site.send_batch(published, [wire.Report(rng.bytes(16), row.tobytes()) for row in rows])
    site.seal()
    return site


def answered_by(site, survey, given):
    """A site with a survey that 600 respondents have answered, each as `given` says."""
    published = site.publish(**survey)
    rng = np.random.default_rng(1)
    rows = [
        published.layout.encode(published.layout.code_answers(given(rng)), SecureBits())
        for _ in range(600)
    ]
    site.send_batch(published, [wire.Report(rng.bytes(16), row) for row in rows])
    site.seal()
    return site


def questionnaire_of(rng):
    smokes = str(rng.choice(["no", "yes"]))
    return {
        "drugs": list(rng.choice(["Cannabis", "Cocaine", "Other"], rng.integers(0, 3), False)),
        "smokes": smokes,
        **({"amount": str(rng.integers(1, 4))} if smokes == "yes" else {}),
        "happy": str(rng.integers(0, 11)),
        "income": int(rng.integers(0, 5001)),
        "violence": str(rng.choice(["no", "yes"])),
        "gender": str(rng.choice(["Female", "Male"])),
    }


def drawn_of(rng):
    return {
        one["name"]: str(rng.choice(one.get("categories", ["1", "2", "3", "4"])))
        for one in DRAWN["attributes"]
    }


def crawled(analyst):
    """Every page that a survey's start page leads to, and the words of those that are refused."""
    seen, wanted, refused = {}, [START], {}
    while wanted and len(seen) < 150:
        path = wanted.pop(0)
        if path in seen:
            continue
        answer = analyst.get(path)
        seen[path] = answer.status_code
        if answer.status_code != 200:
            refused[path] = answer.text
        if "html" in answer.headers["Content-Type"]:
            links = re.findall(r'href="([^"#]+)', answer.text)
            found = (link.replace("&amp;", "&").replace("/dashboard", "", 1) for link in links)
            wanted += [link for link in found if link.startswith(START)]
    return seen, refused


def test_every_page_that_a_survey_leads_to_can_be_read(released, visit):
    seen, refused = crawled(visit("ada", every="admin"))
    assert len(seen) > 40
    assert not refused


def test_every_page_of_a_questionnaire_as_people_write_them_can_be_read(site, visit):
    """A select-all, a follow-up, a scale of 0 to 10, an amount, and two questions together."""
    analyst = visit("ada", at=answered_by(site, QUESTIONNAIRE, questionnaire_of), every="admin")
    seen, refused = crawled(analyst)
    assert len(seen) > 40
    assert not refused
    start = analyst.get(START).text
    findings = start.partition('<ol class="findings">')[2].partition("</ol>")[0]
    assert findings.count("<li") == 7
    assert findings.count("Which of these have you taken?") == 1
    assert "drugs_1" not in findings
    assert "not selected" not in findings
    assert "on a scale from 0 to 5,000" in findings
    report = site.get(f"{VERSION}/report").data.decode()
    assert report.count("<bdi>Which of these have you taken?</bdi></h3>") == 1
    assert "taken? Cannabis</bdi></h3>" not in report


def test_every_page_of_a_survey_with_a_draw_is_shown_or_says_what_it_cannot_tell(site, visit):
    analyst = visit("ada", at=answered_by(site, DRAWN, drawn_of), every="admin")
    table = analyst.get(f"{START}/cross-tables?a=smokes&b=gender").text
    assert "Table of shares" in table
    assert "This table is not shown" not in table
    withheld = analyst.get(f"{START}/cross-tables?a=smokes&b=drinks").text
    assert "each respondent answers 1: nobody answers both" in withheld
    seen, refused = crawled(analyst)
    assert len(seen) > 40
    assert seen[START] == seen[f"{START}/estimates"] == 200
    for path, text in refused.items():
        assert seen[path] == 422, path
        assert "draw" in text, path


def test_every_statistic_says_what_it_leaves_out(released, visit):
    analyst = visit("ada", every="admin")
    page = analyst.get(f"{START}/cross-tables?a=smokes&b=amount").text
    assert "they always depend on each other, since some of their answers cannot be given" in page
    apart = analyst.get(f"{START}/cross-tables?a=gender&b=smokes")
    assert apart.status_code == 200
    assert "always depend" not in apart.text
    assert "The test takes the randomising into account" in apart.text
    tests = released.get(f"{VERSION}/dependencies").json
    tested = {(row["a"], row["b"]) for row in tests["pairs"]}
    assert len(tested) == 15 - 3
    assert ("smokes", "gender") in tested
    assert "smokes and amount, smokes and years, amount and years are not" in tests["reading"]
    together = released.get(f"{VERSION}/simultaneous-estimates").json["attributes"]
    assert [one["name"] for one in together] == list(
        dict.fromkeys(attribute["name"] for attribute in SURVEY["attributes"])
    )
    mean = released.get(f"{VERSION}/ordered-answers?attribute=amount").json["groups"][0]["mean"]
    assert 1 < mean["value"] < 3
    lines = released.get(f"{VERSION}/records?format=csv&content=debiased").data.decode()
    assert lines.startswith('"smokes=no","smokes=yes","amount=1"')
    report = released.get(f"{VERSION}/report")
    assert report.status_code == 200
    shares = analyst.get(f"{START}/estimates").text
    for text in (shares, report.text):
        asked, everybody = (
            text.index(f"hares of {who} asked “")
            for who in ("those who were", "all people, with those who were not")
        )
        assert asked < everybody
        assert "of all people were asked" in text


def test_a_draft_with_a_follow_up_in_a_block_is_shown_and_published(site, visit):
    ada = visit("ada", every="editor")
    path = of_yaml(ada, **SURVEY)
    page = ada.get(f"{path}?beside=now")
    assert page.status_code == 200
    assert "It can be published" in page.text
    assert "randomised together with a follow-up" not in page.text
    assert '<th scope="row"><bdi>amount</bdi></th>' in page.text  # of its launch plan
    draft = site.services.drafts.find(path.rpartition("/")[2])
    assert site.services.drafts.publish(draft, revision=None).row.version == 1
