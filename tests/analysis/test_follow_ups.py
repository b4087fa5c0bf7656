"""What statistics make of follow-ups: a last category, in a block with its router or apart."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import (
    CellValues,
    Records,
    SurveyDesign,
    answered_shares,
    conditional_shares,
    cross_table,
    frequencies,
    independence,
    ordered_summary,
    weighted_shares,
)
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.outcomes import outcome
from hushpoll_analysis.planning.planner import outlook
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols import InvalidParameter, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.marginals import UnevenSets, marginal
from hushpoll_protocols.kernels import indicators
from hushpoll_shared import Manifest
from hushpoll_shared.cli.result_text import text_of_query
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.wire.batch import encode_many

DRAFT: dict[str, Any] = {
    "name": "s",
    "version": 1,
    "title": "S",
    "epsilon": "8",
    "protocol": "SS",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "amount", "role": "sensitive", "range": [1, 3], "ask_if": {"smokes": ["yes"]}},
    ],
}
TREE: dict[str, Any] = {
    **DRAFT,
    "attributes": [*DRAFT["attributes"], {"name": "age", "role": "sensitive", "range": [1, 2]}],
    "together": [{"name": "both", "attributes": ["amount", "smokes", "age"]}],
}


def answered(draft: dict[str, Any], n: int) -> tuple[Records, dict[str, np.ndarray]]:
    published = Manifest.from_dict(draft).resolve()
    rng = np.random.default_rng(4)
    smokes = (rng.random(n) < 0.4).astype(int)
    codes = {"smokes": smokes, "amount": np.where(smokes == 1, rng.integers(0, 3, n), 3)}
    if "together" in draft:
        codes["age"] = rng.integers(0, 2, n)
    return Records(published, encode_many(published, codes, rng)), codes


def test_not_asked_is_an_ordinary_last_category_of_a_follow_up_apart_from_its_router() -> None:
    records, codes = answered(DRAFT, 4_000)
    found = next(one for one in frequencies(records) if one.name == "amount")
    assert found.categories == ("1", "2", "3", "not asked")
    true = np.bincount(codes["amount"], minlength=4) / 4_000
    assert np.abs(found.frequency - true).max() < 0.05


def test_a_mean_is_about_those_who_were_asked() -> None:
    """Guards: the sum over those asked was divided by all respondents."""
    records, codes = answered(DRAFT, 4_000)
    row = result_of(Ordered(attribute="amount"), OfRecords(records)).to_dict()
    true = float(codes["amount"][codes["amount"] < 3].mean()) + 1
    mean = row["groups"][0]["mean"]
    assert abs(mean["value"] - true) < 0.15
    assert mean["lower"] < true < mean["upper"]


def test_counts_of_a_tree_are_those_of_its_combinations() -> None:
    records, _ = answered(TREE, 300)
    published = records.published
    (block,) = published.blocks
    assert block.k == 8
    supported = indicators(block.oracle, records.of_field(published.layout.fields[0]))
    kept = count_pairs(records)
    for name in ("amount", "smokes", "age"):
        codes = np.frombuffer(block.codes_of(name), np.uint16)
        expected = [int(supported[:, codes == code].sum()) for code in range(codes.max() + 1)]
        assert kept.counts.of(published, name).tolist() == expected
    # Each age has as many combinations, so its law is that of sets of one size.
    age = law_of(published.attribute("age"))
    assert age is not None
    assert (age.k, published.attribute("age").set_sizes) == (2, (4, 4))


def test_shares_and_tables_of_a_tree_are_about_those_who_were_asked() -> None:
    records, codes = answered({**TREE, "epsilon": "12"}, 4_000)
    found = {one.name: one for one in frequencies(records)}
    for name, values in codes.items():
        true = np.bincount(values, minlength=len(found[name].categories)) / 4_000
        assert np.abs(found[name].frequency - true).max() < 0.02
        assert found[name].frequency.sum() == pytest.approx(1)
    table = cross_table(records, "smokes", "amount")
    impossible = np.array([[True, True, True, False], [False, False, False, True]])
    assert not table.frequency[impossible].any()
    assert not table.upper[impossible].any()
    assert table.frequency.sum(axis=0) == pytest.approx(found["amount"].frequency)
    assert table.frequency.sum(axis=1) == pytest.approx(found["smokes"].frequency)
    shares = conditional_shares(records, "amount", "smokes", reference="no")
    asked = codes["amount"][codes["smokes"] == 1]
    true = np.bincount(asked, minlength=4) / len(asked)
    assert shares.shares.value[1] == pytest.approx(true, abs=0.03)
    assert shares.shares.value[0] == pytest.approx([0, 0, 0, 1])
    by_age = conditional_shares(records, "amount", "age").shares
    assert by_age.value.sum(axis=1) == pytest.approx([1, 1])
    with pytest.raises(InvalidParameter, match="smokes and amount always depend on each other"):
        independence(records, "smokes", "amount")
    assert independence(records, "age", "amount").degrees == 3


@pytest.mark.parametrize("protocol", ["SS", "OUE", "OLH"])
def test_intervals_of_a_tree_hold_the_shares(protocol: str) -> None:
    published = Manifest.from_dict({**TREE, "epsilon": "2", "protocol": protocol}).resolve()
    shares = np.array([0.15, 0.09, 0.06, 0.7])
    asked = np.append(shares[:3] / 0.3, 0.0)
    held, surveys, n = np.zeros((3, 4)), 60, 1_500
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        amount = rng.choice(4, n, p=shares)
        codes = {
            "smokes": (amount < 3).astype(int),
            "amount": amount,
            "age": rng.integers(0, 2, n),
        }
        records = Records.trusted(published, encode_many(published, codes, rng))
        found = next(one for one in frequencies(records) if one.name == "amount")
        assert found.lower is not None
        assert found.upper is not None
        held[0] += (found.lower <= shares) & (shares <= found.upper)
        table = cross_table(records, "amount", "smokes")
        true = np.append(shares[:3], 0.0)
        held[1] += (table.lower[:, 1] <= true) & (true <= table.upper[:, 1])
        sets = conditional_shares(records, "amount", "smokes").shares
        held[2] += (sets.lower[1] <= asked) & (asked <= sets.upper[1])
    # at 95 %, three of 60 miss; four standard errors are 7
    assert held.min() >= surveys - 10, held


@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_means_of_a_tree_are_about_those_who_were_asked_and_held_by_their_intervals(
    protocol: str,
) -> None:
    years = {"name": "years", "role": "sensitive", "range": [1, 2], "ask_if": {"smokes": ["yes"]}}
    draft = {
        **DRAFT,
        "epsilon": "2",
        "protocol": protocol,
        "attributes": [*DRAFT["attributes"], years],
        "together": [{"name": "both", "attributes": ["smokes", "amount", "years"]}],
    }
    published = Manifest.from_dict(draft).resolve()
    assert published.attribute("amount").set_sizes == (2, 2, 2, 1)
    held, surveys, n = np.zeros(5), 60, 1_500
    shares = np.array([0.2, 0.15, 0.05, 0.6])  # of the amounts, and of those not asked
    long = np.array([0.3, 0.5, 0.8])  # by amount, who has smoked for two years
    asked = shares[:3] / shares[:3].sum()
    truth = [asked @ [1, 2, 3], *(1 + long), asked @ long]
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        amount = rng.choice(4, n, p=shares)
        duration = (rng.random(n) < np.append(long, 0)[amount]).astype(int)
        codes = {
            "smokes": (amount < 3).astype(int),
            "amount": amount,
            "years": np.where(amount < 3, duration, 2),
        }
        records = Records.trusted(published, encode_many(published, codes, rng))
        alone = ordered_summary(records, "amount").groups[0].mean
        groups = ordered_summary(records, "years", given="amount", reference="1")
        share = ordered_summary(records, "years", threshold=2).groups[0].at_least
        assert share is not None
        found = [alone, *(group.mean for group in groups.groups[:3]), share]
        held += [one.lower <= true <= one.upper for one, true in zip(found, truth, strict=True)]
    # at 95 %, three of 60 miss; four standard errors are 7
    assert held.min() >= surveys - 10, held


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE", "OLH"])
def test_sets_of_one_size_have_the_estimates_of_a_marginal(protocol: str) -> None:
    oracle = create(protocol, k=6, epsilon="1")
    support = np.array([300, 420, 280])
    even = estimate(marginal(oracle, 3), support, 1_000)
    uneven = estimate(UnevenSets(oracle, (2, 2, 2)), support, 1_000)
    for part in ("frequency", "standard_error", "lower", "upper"):
        assert getattr(uneven, part) == pytest.approx(getattr(even, part), rel=1e-9)


def test_a_plan_of_a_follow_up_is_about_those_who_are_asked() -> None:
    manifest = Manifest.from_dict(TREE)
    own = outlook(manifest, 1_000)["own"]
    assert {row["name"] for row in own["attributes"]} == {"smokes", "amount", "age"}
    goals = [Goal.parse("width:amount=0.1"), Goal.parse("mean:amount=0.2")]
    sentences = [one["sentence"] for one in verdicts(manifest, goals, n=1_000)["goals"]]
    assert all(
        "(among the 50 % of the people who are taken to be asked it)" in s for s in sentences
    )
    with pytest.raises(InvalidParameter, match="which are about the people who are asked"):
        verdicts(manifest, [Goal.parse("gap:amount/smokes=0.1")], n=1_000)


@pytest.mark.parametrize(("protocol", "together"), [("SS", True), ("OUE", True), ("SS", False)])
def test_planned_widths_of_a_follow_up_are_those_of_simulated_surveys(
    protocol: str, together: bool
) -> None:
    draft = {**TREE, "epsilon": "3", "protocol": protocol}
    if not together:
        del draft["together"]
    published = Manifest.from_dict(draft).resolve()
    n, surveys, found = 3_000, 12, []
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        smokes = rng.integers(0, 2, n)
        amount = np.where(smokes == 1, rng.integers(0, 3, n), 3)
        codes = {"smokes": smokes, "amount": amount, "age": rng.integers(0, 2, n)}
        records = Records.trusted(published, encode_many(published, codes, rng))
        (asked,) = answered_shares(records, attributes=["amount"])
        mean = ordered_summary(records, "amount").groups[0].mean
        found.append([asked.shares[0].upper - asked.shares[0].lower, mean.upper - mean.lower])
    planned = [
        outcome(Goal(kind, "amount"), published, n, AuditAssumptions()).value
        for kind in ("width", "mean")
    ]
    assert np.mean(found, axis=0) == pytest.approx(planned, rel=0.05)


@pytest.mark.parametrize("together", [False, True])
def test_shares_among_those_asked_are_ratios_of_estimates_and_stand_before_those_of_answers(
    together: bool,
) -> None:
    attributes = [DRAFT["attributes"][0], {**DRAFT["attributes"][1], "missing": "?"}]
    block = [{"name": "both", "attributes": ["smokes", "amount"]}] if together else []
    draft = {**DRAFT, "attributes": attributes, **({"together": block} if together else {})}
    published = Manifest.from_dict(draft).resolve()
    rng = np.random.default_rng(2)
    amount = rng.choice(5, 4_000, p=[0.2, 0.1, 0.05, 0.1, 0.55])
    codes = {"smokes": (amount < 4).astype(int), "amount": amount}
    records = Records(published, encode_many(published, codes, rng))
    asked, given = answered_shares(records)
    estimated = next(one for one in frequencies(records) if one.name == "amount").frequency
    assert (asked.missing, asked.categories) == ("not asked", ("1", "2", "3", "?"))
    assert (given.missing, given.categories) == ("?", ("1", "2", "3"))
    for found, number in ((asked, 4), (given, 3)):
        shares = estimated[:number] / estimated[:number].sum()
        assert [one.value for one in found.shares] == pytest.approx(shares.tolist())
        assert found.answered.value == pytest.approx(estimated[:number].sum())
    true = np.bincount(amount, minlength=5)[:4] / (amount < 4).sum()
    for share, truth in zip(asked.shares, true, strict=True):
        assert share.lower < truth < share.upper
    result = answered_shares(records).result()
    titles = [section.title for section in result.sections()]
    assert titles == [
        "who was asked amount",
        "amount, of those who were asked",
        "who answered amount",
        "amount, of those who answered",
    ]
    assert result.assumption.startswith("Shares of a follow-up are of those who were asked it")


def test_estimates_have_the_mean_of_a_number_and_who_was_asked() -> None:
    """Shares of anchors are no shares of answers, and those of all people none of those asked."""
    questions = [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {
            "name": "much",
            "role": "sensitive",
            "categories": ["few", "many"],
            "ask_if": {"smokes": ["yes"]},
        },
        {"name": "rent", "role": "sensitive", "number": {"low": 0, "high": 100, "unit": "euros"}},
    ]
    published = Manifest.from_dict({**DRAFT, "attributes": questions}).resolve()
    rng = np.random.default_rng(4)
    smokes = (rng.random(4000) < 0.4).astype(int)
    much = np.where(smokes == 1, rng.integers(0, 2, 4000), 2)
    codes = {"smokes": smokes, "much": much, "rent": rng.integers(20, 41, 4000)}
    source = OfRecords(Records.trusted(published, encode_many(published, codes, rng)))
    found = result_of(Estimates(), source)
    mean = result_of(Ordered(attribute="rent"), source).groups[0].mean
    assert found.attributes[2].mean == mean
    assert found.attributes[1].asked == result_of(Answered(), source).attributes[0]
    assert found.attributes[0].mean is found.attributes[0].asked is None
    text = text_of_query(Estimates)(found.to_dict())
    assert f"mean {mean.value:.1f} (95 %" in text
    assert "shares of answers." in text
    assert re.search(r"Of those who were asked \(0\.\d{3},", text)
    # Of few numbers a device sends each as it is: they are answers.
    document = found.to_dict()
    rows = document["attributes"][2]["categories"]
    document["attributes"][2]["categories"] = [
        {**row, "category": str(place)} for place, row in enumerate(rows)
    ]
    assert "anchor" not in text_of_query(Estimates)(document)
    with pytest.raises(InvalidParameter, match=r"rent is answered by a number.*ordered s rent"):
        weighted_shares(source.given, "rent")
    known = SurveyDesign(margins=(CellValues(("rent",), {"0": 0.5, "100": 0.5}),))
    with pytest.raises(InvalidParameter, match="rent is answered by a number") as caught:
        weighted_shares(source.given, "smokes", known)
    assert caught.value.field == "margins"
    projected = result_of(Estimates(estimator="projected"), source)
    assert projected.attributes[2].mean is projected.attributes[1].asked is None
