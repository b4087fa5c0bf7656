"""Questions with more answers than a survey can show: when, at how many reports, and brackets."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from hushpoll_protocols import PROTOCOLS, create
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.survey.questions.domain_size import (
    MOST_BRACKETS,
    reports_for_mean,
    reports_for_shares,
    too_fine,
)


def question(epsilon="1", protocol="OUE", **domain):
    attribute = {"name": "income", "role": "sensitive", **domain}
    return {
        "name": "work", "version": 1, "title": "Work", "epsilon": epsilon, "protocol": protocol,
        "attributes": [attribute],
    }  # fmt: skip


def checked(n=10_000, **draft):
    return too_fine(Manifest.from_dict(question(**draft)).resolve().attributes[0], n)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("k", [2, 6, 74])
def test_shares_are_told_from_the_number_of_reports_on_at_which_noise_is_below_them(name, k):
    oracle = create(name, k=k, epsilon="1")
    n = reports_for_shares(oracle)
    half = [
        1.96 * math.sqrt(float(oracle.estimate_variance(Fraction(1, k))) / reports)
        for reports in (n, n / 1.01)
    ]
    assert half[0] <= min(1 / k, 0.25) * 1.0001 < half[1] * 1.005


def test_wide_range_is_told_by_nobody_and_gets_brackets_that_can_be_published():
    found = checked(range=[0, 10_000], missing="Prefer not to say", protocol="OLH")
    assert found.needed == reports_for_mean(create("OLH", k=10_002, epsilon="1"), 10_001)
    assert found.needed > 100_000
    assert "with 10,000 reports and epsilon 1, income cannot tell the share" in found.message
    assert f"that takes {found.needed:,} reports" in found.message
    written = found.message.partition("in place of range: ")[2]
    brackets = parse_yaml(written.encode())["categories"]
    assert brackets[0] == "0 to 999"
    assert brackets[-1] == "9000 to 10000"
    assert len(brackets) <= MOST_BRACKETS
    assert checked(categories=brackets, missing="Prefer not to say", protocol="OLH") is None
    assert checked(n=found.needed, range=[0, 10_000], missing="-", protocol="OLH") is None
    assert checked(n=found.needed - 1, range=[0, 10_000], missing="-", protocol="OLH") is not None


def test_ages_have_a_mean_that_can_be_told():
    assert checked(range=[17, 90]) is None
    assert "19" not in (checked(n=100, range=[17, 90]).message.partition("categories")[2])


def test_many_names_are_to_be_combined():
    found = checked(categories=[f"Place {n}" for n in range(500)])
    assert "Combine answers until there are at most 13" in found.message


def test_question_that_no_brackets_help_asks_for_epsilon_or_people():
    assert "a larger part of epsilon" in checked(n=10, epsilon="0.01", range=[0, 50]).message


def test_brackets_begin_and_end_with_the_range():
    found = checked(range=[-30, 25_017], n=5_000)
    brackets = parse_yaml(found.message.partition("in place of range: ")[2].encode())["categories"]
    assert brackets[0].startswith("-30 to ")
    assert brackets[-1].endswith(" to 25017")
    firsts = [int(label.partition(" to ")[0]) for label in brackets]
    lasts = [int(label.partition(" to ")[2]) for label in brackets]
    assert firsts[1:] == [last + 1 for last in lasts[:-1]]


def test_answers_in_clear_are_not_warned_of():
    draft = question(categories=[f"Place {n}" for n in range(500)])
    draft["attributes"][0]["role"] = "plain"
    draft["attributes"].append({"name": "b", "role": "sensitive", "categories": ["x", "y"]})
    assert too_fine(Manifest.from_dict(draft).resolve().attributes[0]) is None
