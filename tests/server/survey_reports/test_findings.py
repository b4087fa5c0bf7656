"""A survey's findings: what a line names, how many digits it has, and what its picture shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols import SecureBits
from hushpoll_server.survey_reports.content.findings import (
    findings_of,
    headline_row,
    limits_words,
    share_words,
)
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.parts import CategoryEstimate
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.wire.batch import encode_many

QUESTIONS = {
    "smokes": {"categories": ["Yes", "No"], "question": "Do you smoke?"},
    "paid": {"categories": ["low", "high"], "positive": "high", "role": "target"},
    "job": {"categories": ["Farm", "Shop", "Office", "School", "Ward", "Ship", "none"]},
    "happy": {"categories": [str(score) for score in range(11)]},
}
SHARES = {
    "smokes": [1, 3],
    "paid": [4, 1],
    "job": [0, 1, 6, 2, 3, 1, 0],
    "happy": [0] * 5 + [1] * 6,
}


@pytest.fixture(scope="module")
def findings():
    """Of answers in clear, so that the figures are the shares of SHARES."""
    attributes = [{"name": name, "role": "plain", **more} for name, more in QUESTIONS.items()]
    attributes.append({"name": "q", "role": "sensitive", "categories": ["a", "b"]})
    draft = {"name": "s", "version": 1, "title": "S", "epsilon": "0.1", "protocol": "GRR"}
    published = Manifest.from_dict({**draft, "attributes": attributes}).resolve()
    people = 780
    columns = {
        name: np.repeat(np.arange(len(parts)), np.array(parts) * people // sum(parts))
        for name, parts in SHARES.items()
    }
    columns["q"] = np.arange(people) % 2
    rows = [
        published.layout.encode({name: int(codes[row]) for name, codes in columns.items()}, bits)
        for bits in [SecureBits()]
        for row in range(people)
    ]
    records = np.frombuffer(b"".join(rows), np.uint8).reshape(people, -1)
    source = OfRecords(Records(published, records))
    means = {"happy": result_of(Ordered(attribute="happy"), source)}
    shares = result_of(Estimates(), source)
    return {one.name: one for one in findings_of(published, shares, means)}


def test_line_of_two_answers_is_about_the_first_or_the_positive_one(findings):
    smokes, paid = findings["smokes"], findings["paid"]
    assert (smokes.question, smokes.headline, smokes.figure) == (
        "Do you smoke?",
        "Yes",
        "25\u00a0%",
    )
    assert (paid.question, paid.headline, paid.figure) == ("paid", "high", "20\u00a0%")
    assert [(bar.label, bar.main) for bar in paid.bars] == [("low", False), ("high", True)]


def test_line_of_many_answers_is_about_the_largest_and_the_picture_has_five(findings):
    job = findings["job"]
    assert (job.headline, job.figure, job.others) == ("Office", "46\u00a0%", 2)
    # In the order of the questionnaire, as on all other pages.
    assert [bar.label for bar in job.bars] == ["Shop", "Office", "School", "Ward", "Ship"]
    (first,) = (bar for bar in job.bars if bar.main)
    assert first.label == "Office"
    assert first.dot == pytest.approx(100 * 6 / 13, abs=0.01)
    assert first.start < first.dot < first.start + first.width


def test_question_with_a_scale_has_its_mean_on_it(findings):
    happy = findings["happy"]
    assert (happy.headline, happy.figure) == ("Mean, on a scale from 0 to 10", "7.5")
    assert happy.ends == ("0", "10")
    assert happy.bars[0].dot == 75


def test_question_that_is_too_noisy_has_no_figure(findings):
    q = findings["q"]
    assert q.noisy
    assert (q.headline, q.figure, q.limits, q.bars) == ("", "", "", ())


@pytest.mark.parametrize(
    ("estimate", "lower", "upper", "figure", "limits"),
    [
        (0.25, 0.17, 0.34, "25 %", "17 to 34 %"),
        (0.2512, 0.245, 0.257, "25.1 %", "24.5 to 25.7 %"),
        (-0.03, -0.2, 0.14, "about 0 %", "0 to 14 %"),
        (1.2, 0.9, 1.5, "about 100 %", "90 to 100 %"),
        (0.5, None, None, "50.0 %", ""),
    ],
)
def test_share_has_the_digits_that_its_interval_supports(estimate, lower, upper, figure, limits):
    row = CategoryEstimate(
        category="a", frequency=estimate, standard_error=0.1, lower=lower, upper=upper
    )
    told = share_words(row), limits_words(row)
    assert tuple(words.replace("\u00a0", " ") for words in told) == (figure, limits)


def test_the_headline_of_an_option_is_about_who_selects_it():
    option = Attribute("news_1", "sensitive", ("not selected", "selected"))
    rows = [{"category": name, "frequency": 0.5} for name in option.categories]
    assert headline_row(option, rows)["category"] == "selected"
    assert headline_row(replace(option, categories=("no", "yes")), rows[:1]) == rows[0]


def test_a_follow_up_is_told_of_those_who_were_asked():
    few = {"name": "much", "role": "sensitive", "categories": ["few", "many"]}
    draft = {
        "name": "s",
        "version": 1,
        "title": "S",
        "epsilon": "9",
        "protocol": "SS",
        "attributes": [
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
            {**few, "ask_if": {"smokes": ["yes"]}},
        ],
        "together": [{"name": "habit", "attributes": ["smokes", "much"]}],
    }
    published, rng = Manifest.from_dict(draft).resolve(), np.random.default_rng(3)
    smokes = (rng.random(4000) < 0.4).astype(np.int64)
    much = np.where(smokes == 1, (rng.random(4000) < 0.25).astype(np.int64), 2)
    rows = encode_many(published, {"smokes": smokes, "much": much}, rng)
    source = OfRecords(Records.trusted(published, rows))
    shares, answered = result_of(Estimates(), source), result_of(Answered(), source)
    _, told = findings_of(published, shares, {}, answered)
    assert told.headline == "few, of those who were asked"
    assert told.figure.startswith("7")
    assert [bar.label for bar in told.bars] == ["few", "many"]
    _, of_all = findings_of(published, shares, {})
    assert (of_all.headline, of_all.figure[0]) == ("few", "3")
