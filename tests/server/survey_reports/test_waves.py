"""Earlier versions and groups in a report: the finding as title, and nothing that was not over."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest

from hushpoll_server.survey_reports.content import waves as waves_of_reports
from hushpoll_server.survey_reports.files.bundle import read_bundle
from hushpoll_server.survey_reports.files.offline import remade
from sample_survey import encoded

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("drawn_by_all")]
LIKES = {
    "name": "likes",
    "role": "plain",
    "question": "Do you like it?",
    "categories": ["yes", "no"],
}
SEX = {"name": "sex", "role": "plain", "question": "Your sex?", "categories": ["woman", "man"]}
COIN = {"name": "coin", "role": "sensitive", "protocol": "GRR", "categories": ["heads", "tails"]}
MOOD = {"name": "mood", "role": "sensitive", "protocol": "GRR", "range": [1, 5]}
ODD = {"name": "odd", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"]}
SECOND = "/api/v1/surveys/work/versions/2"


def publish(site, version, yes, **changes):
    published = site.publish(
        version=version, epsilon="20", protected=None, minimum_batch=1, release="immediate",
        allow_weak=True, **{"attributes": [LIKES, SEX, COIN, MOOD, ODD], **changes},
    )  # fmt: skip
    reports = [
        encoded(
            published,
            {"likes": "yes" if place < yes else "no", "sex": "woman" if place < 100 else "man",
             "coin": "heads" if place < yes else "tails", "mood": "5" if place < yes else "2",
             "odd": published.attribute("odd").categories[0]},
        )
        for place in range(200)
    ]  # fmt: skip
    assert site.send_batch(published, reports).json["accepted"] == 200
    site.services.sealing.sweep(site.services.surveys.now())
    return published


@pytest.fixture
def waves(site):
    """Two versions: a question of the second has other answers, and the first still runs."""
    publish(site, 1, 120)
    other = {**ODD, "categories": ["a", "b", "c"]}
    publish(site, 2, 60, attributes=[LIKES, SEX, COIN, MOOD, other])
    return site


def told(page):
    page = re.sub("<style>.*?</style>", "", page, flags=re.DOTALL)
    text = html.unescape(re.sub("<[^>]*>", "", page)).replace("\xa0", " ")
    return re.sub(r"\s+", " ", text)


def test_report_shows_a_question_beside_the_earlier_version(waves):
    page = waves.get(f"{SECOND}/report?trend=true").text
    text = told(page)
    assert re.search(r"heads: down (2[5-9]|3[0-5]) points since version 1 \(\d\d to \d\d\)", text)
    assert re.search(
        r"Version 1, n = 200 ?(5[5-9]|6[0-5]) % .*?Version 2, n = 200 ?(2[5-9]|3[0-5]) %", text
    )
    assert re.search(r"Mean: down by (0\.[7-9]|1\.[01]) since version 1", text)
    # one that asks with other answers stands alone, and so do all without the choice
    assert text.count("since version 1") == 2
    assert "since version" not in told(waves.get(f"{SECOND}/report").text)
    assert "--trend" in text


def test_answers_in_clear_of_an_earlier_version_wait_until_it_is_closed(waves):
    path = f"{SECOND}/report?trend=true&attributes=likes"
    assert "since version" not in told(waves.get(path).text)
    waves.close()
    waves.clock.advance(1)
    waves.services.sealing.sweep(waves.services.surveys.now())
    assert "yes: down 30 points since version 1" in told(waves.get(path).text)


def test_report_of_several_versions_and_groups_is_made_again_from_its_bundle(waves):
    asked = f"{SECOND}/report?trend=true&cross=coin:sex"
    page = waves.get(asked).data
    bundle = waves.get(f"{asked}&format=bundle").data
    with remade(bundle) as made:
        assert made.different == ()
        assert made.file("html") == page
    files = read_bundle(bundle)[1]
    (wave,) = json.loads(files["basis.json"])["facts"]["waves"]
    assert (wave["version"], set(wave["questions"])) == (1, {"coin", "mood"})
    tables = [name for name in files if name.endswith(("-over-versions.csv", "-of-sex.csv"))]
    assert len(tables) == 3
    assert (
        len([name for name in files if name.endswith(("-over-versions.svg", "-of-sex.svg"))]) == 3
    )


def test_groups_are_small_multiples_below_their_largest_difference(waves):
    """Of version 2 the 60 who say heads are women; nobody else is."""
    text = told(waves.get(f"{SECOND}/report?cross=coin:sex&attributes=coin").text)
    first, _, rest = text.partition("What respondents were promised")
    assert re.search(r"heads: (5[5-9]|6[0-5]) points less among man than among woman", first)
    assert re.search(r"woman ?heads ?(5[5-9]|6[0-5]) % .*?man ?heads ?(about 0|[0-4])", first)
    assert "coin by Your sex?" in rest
    document = waves.get(
        "/api/v1/surveys/work/versions/2/conditional-shares?of=coin&given=sex&reference=woman"
    ).json
    (found,) = (
        one
        for one in document["differences"]
        if (one["group"], one["category"]) == ("man", "heads")
    )
    assert -0.66 < found["value"] < -0.54


def test_public_page_has_earlier_versions_where_the_editor_ticks_them(waves):
    for version in (1, 2):
        path = f"/api/v1/surveys/work/versions/{version}/close"
        assert waves.post(path, json={"grace_seconds": 0}).status_code == 200
    waves.clock.advance(1)
    waves.services.sealing.sweep(waves.services.surveys.now())
    for trend in (False, True):
        choices = {"attributes": ["coin"], **({"trend": True} if trend else {})}
        answer = waves.post(f"{SECOND}/public-results", json=choices)
        assert answer.status_code == 201, answer.json
        assert answer.json["trend"] is trend
        page = waves.client().get("/results/work/versions/2").text
        assert ("since version 1" in told(page)) == trend
        german = waves.client().get("/results/work/versions/2?lang=de").text
        assert ("weniger als in Version 1" in told(german)) == trend


def test_a_select_all_is_followed_by_the_option_that_most_select(site):
    news = {
        "name": "news", "role": "sensitive", "protocol": "GRR", "question": "What do you read?",
        "categories": ["Radio", "Papers"], "select": {},
    }  # fmt: skip
    for version, readers in ((1, 40), (2, 160)):
        published = site.publish(
            version=version, epsilon="20", protected=None, minimum_batch=1, release="immediate",
            allow_weak=True, attributes=[news],
        )  # fmt: skip
        site.send_batch(
            published,
            [
                encoded(published, {"news_1": "not selected", "news_2": option})
                for option in ["selected"] * readers + ["not selected"] * (200 - readers)
            ],
        )
        site.services.sealing.sweep(site.services.surveys.now())
    page = told(site.get(f"{SECOND}/report?trend=true").text)
    assert re.search(r"Papers\W*: up \d+ points since version 1", page)
    assert re.search(r"Share of “\W*Papers\W*” in each version", page)
    assert "1of 1 question shown" in page


def test_of_many_questions_those_that_have_changed_are_followed_first(monkeypatch):
    unchanged = waves_of_reports.Trend(title="", chart=None, table=None, changed=False)
    found = {f"q{number}": unchanged for number in range(waves_of_reports.MOST_TRENDS + 2)}
    found["q13"] = replace(unchanged, changed=True)
    monkeypatch.setattr(waves_of_reports, "_trends", lambda *_: iter(found.items()))
    kept, left_out = waves_of_reports.trends_of(None, {}, ())
    assert [name for name, _ in kept] == [*(f"q{number}" for number in range(11)), "q13"]
    assert left_out == 2


def test_report_says_how_many_questions_it_does_not_follow(waves, monkeypatch):
    monkeypatch.setattr(waves_of_reports, "MOST_TRENDS", 1)
    text = told(waves.get(f"{SECOND}/report?trend=true").text)
    assert text.count("since version 1") == 1
    assert "1 more question that earlier versions ask too is not followed here" in text
