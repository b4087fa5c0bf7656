"""What statistics make of follow-ups: a last category, in a block with its router or apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import (
    Records,
    conditional_shares,
    cross_table,
    frequencies,
    independence,
    ordered_summary,
)
from hushpoll_analysis.planning.planner import plan
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.results import result_of
from hushpoll_protocols import InvalidParameter, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.marginals import UnevenSets, marginal
from hushpoll_protocols.kernels import indicators
from hushpoll_server.services.surveys.launch import launch_plan
from hushpoll_shared import Manifest
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


def test_a_plan_of_a_tree_is_refused_by_name() -> None:
    options = plan(Manifest.from_dict(TREE), 1_000)["options"]
    words = "randomised together with a follow-up"
    assert all(words in option["error"] or "k-based" in option["error"] for option in options)
    published = Manifest.from_dict(TREE).resolve()
    with pytest.raises(InvalidParameter, match=words):
        launch_plan(None, TREE, published, n=1_000)  # type: ignore[arg-type]
