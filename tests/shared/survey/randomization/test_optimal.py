"""The optimal split: the least total variance, published as weights that any device checks."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from fractions import Fraction

import pytest

from hushpoll_protocols import PROTOCOLS, InvalidParameter, ManifestRefused, create
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.randomization.budget import Split, split_budget
from hushpoll_shared.survey.randomization.optimal import UNITS, optimal_split

ADULT = {"gender": 2, "race": 5, "native-country": 41, "age": 74}


def objective(epsilon: Decimal, attributes: dict[str, tuple[str, int]], split: Split) -> Fraction:
    """The sum over attributes of n times a category's variance, categories equally frequent."""
    parts = split_budget(epsilon, {name: k for name, (_, k) in attributes.items()}, split)
    oracles = [
        create(attributes[name][0], k=attributes[name][1], epsilon=parts[name]) for name in parts
    ]
    return sum((oracle.estimate_variance(Fraction(1, oracle.k)) for oracle in oracles), Fraction(0))


def draft(
    split: object = "optimal", epsilon: str = "4", protocol: str = "GRR"
) -> dict[str, object]:
    return {
        "name": "adult",
        "version": 1,
        "title": "Adult",
        "epsilon": epsilon,
        "split": split,
        "protocol": "GRR",
        "attributes": [
            {"name": name, "role": "sensitive", "range": [1, k]} for name, k in ADULT.items()
        ],
    }


def attributes(protocol: str) -> dict[str, tuple[str, int]]:
    return {name: (protocol, k) for name, k in ADULT.items()}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_it_is_no_worse_than_the_named_splits(protocol: str, epsilon: str) -> None:
    total, asked = Decimal(epsilon), attributes(protocol)
    optimum = objective(total, asked, optimal_split(total, asked))
    assert optimum <= objective(total, asked, Split("uniform"))
    assert optimum < objective(total, asked, Split("k-based"))


def test_the_weights_for_adult_under_grr() -> None:
    """The search is exact, so these four integers are the same on every machine."""
    assert optimal_split(Decimal(4), attributes("GRR")).to_json() == {
        "weights": {"age": "3724", "gender": "1232", "native-country": "3236", "race": "1808"}
    }


@pytest.mark.parametrize("protocol", ["GRR", "OLH", "SS"])
def test_no_other_split_of_two_is_better(protocol: str) -> None:
    """All splits of two domains, a hundredth of the total apart, and those near the one found."""
    asked = {"a": (protocol, 3), "b": (protocol, 40)}
    weights = dict(optimal_split(Decimal(3), asked).weights)
    best = objective(Decimal(3), asked, Split("weights", tuple(weights.items())))
    near = range(int(weights["a"]) - 20, int(weights["a"]) + 21)
    for units in itertools.chain(range(100, UNITS, 100), near):
        other = Split("weights", (("a", Decimal(units)), ("b", Decimal(UNITS - units))))
        assert best <= objective(Decimal(3), asked, other)


def test_no_other_split_of_three_is_better() -> None:
    asked = {"a": ("GRR", 2), "b": ("OUE", 30), "c": ("GRR", 12)}
    best = objective(Decimal(2), asked, optimal_split(Decimal(2), asked))
    for a, b in itertools.product(range(500, 9000, 500), repeat=2):
        if a + b < UNITS:
            weights = (("a", Decimal(a)), ("b", Decimal(b)), ("c", Decimal(UNITS - a - b)))
            assert best <= objective(Decimal(2), asked, Split("weights", weights))


def test_equal_attributes_get_equal_parts() -> None:
    asked = dict.fromkeys("abcde", ("GRR", 9))
    assert {units for _, units in optimal_split(Decimal(1), asked).weights} == {UNITS // 5}


def test_the_order_of_the_attributes_does_not_matter() -> None:
    asked = attributes("SS")
    backwards = dict(reversed(asked.items()))
    assert optimal_split(Decimal(1), asked) == optimal_split(Decimal(1), backwards)


def test_many_attributes_each_get_something() -> None:
    asked = {f"a{k}": ("GRR", k) for k in range(2, 258)}
    weights = dict(optimal_split(Decimal(8), asked).weights)
    assert sum(weights.values()) == UNITS
    assert min(weights.values()) >= 1
    assert weights["a257"] > weights["a2"]


def test_it_is_published_as_weights_that_a_device_checks() -> None:
    published = Manifest.from_dict(draft()).resolve()
    document = json.loads(published.canonical)
    assert document["split"] == {
        "weights": {"age": "3724", "gender": "1232", "native-country": "3236", "race": "1808"}
    }
    assert published.budget == {
        "gender": Decimal("0.4928"),
        "race": Decimal("0.7232"),
        "native-country": Decimal("1.2944"),
        "age": Decimal("1.4896"),
    }
    assert Published.from_json(published.canonical) == published
    document["split"] = "optimal"
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(document)
    assert caught.value.field == "split"


def test_a_draft_keeps_its_shorthand() -> None:
    manifest = Manifest.from_dict(draft())
    assert manifest.to_dict()["split"] == "optimal"
    assert Manifest.from_dict(manifest.to_dict()) == manifest
    assert manifest.budget() == manifest.resolve().budget


def test_a_total_of_millionths_is_split_as_far_as_it_goes() -> None:
    published = Manifest.from_dict(draft(epsilon="0.000008")).resolve()
    assert min(published.budget.values()) >= Decimal("0.000001")
    with pytest.raises(InvalidParameter, match="raise epsilon"):
        Manifest.from_dict(draft(epsilon="0.000003")).resolve()


def test_without_protocols_it_cannot_be_shared_out() -> None:
    with pytest.raises(InvalidParameter, match="resolve the manifest") as caught:
        split_budget(Decimal(4), ADULT, "optimal")
    assert caught.value.field == "split"
