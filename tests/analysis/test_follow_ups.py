"""What statistics make of follow-ups: a last category, or a refusal by name where a tree is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import Records, frequencies
from hushpoll_analysis.planning.planner import plan
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.results import result_of
from hushpoll_protocols import InvalidParameter
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


def test_counts_of_a_tree_are_those_of_its_combinations_and_its_questions_are_refused() -> None:
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
    with pytest.raises(InvalidParameter, match="smokes is randomised together with a follow-up"):
        frequencies(records)
    # Each age has as many combinations, so its law is that of sets of one size.
    age = law_of(published.attribute("age"))
    assert age is not None
    assert (age.k, published.attribute("age").set_sizes) == (2, (4, 4))


def test_a_plan_of_a_tree_is_refused_by_name() -> None:
    options = plan(Manifest.from_dict(TREE), 1_000)["options"]
    words = "randomised together with a follow-up"
    assert all(words in option["error"] or "k-based" in option["error"] for option in options)
    published = Manifest.from_dict(TREE).resolve()
    with pytest.raises(InvalidParameter, match=words):
        launch_plan(None, TREE, published, n=1_000)  # type: ignore[arg-type]
