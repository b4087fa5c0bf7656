from __future__ import annotations

import itertools

import numpy as np
import pytest

from hushpoll_fleet.population.population import Population
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents, marginals
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.survey.questions.attributes import Attribute

ATTRIBUTES = (
    Attribute("gender", "sensitive", ("Female", "Male")),
    Attribute("region", "plain", ("north", "south", "west"), missing="unknown"),
    Attribute("education", "plain", ("school", "college")),
    Attribute("income", "target", ("low", "high"), positive="high"),
)
MODEL = {
    "gender": {"weights": {"Female": 2, "Male": 3}},
    "region": {"weights": {"north": 1, "west": 3}},
    "education": {
        "given": "gender",
        "weights": {"Female": {"school": 1, "college": 1}, "Male": {"school": 3, "college": 1}},
    },
    "income": {
        "logit": {
            "intercept": -1,
            "effects": {"gender": {"Male": 1.5}, "education": {"college": 1}},
        }
    },
}


@pytest.fixture
def population() -> Population:
    return Population.read(ATTRIBUTES, MODEL)


def brute_force(population: Population, *names: str) -> np.ndarray:
    order = [item.attribute.name for item in population.conditionals]
    size = {item.attribute.name: item.attribute.k for item in population.conditionals}
    result = np.zeros([size[name] for name in names])
    for codes in itertools.product(*(range(size[name]) for name in order)):
        row = dict(zip(order, codes, strict=True))
        chance = 1.0
        for item in population.conditionals:
            chance *= item.table[(*(row[p.name] for p in item.parents), row[item.attribute.name])]
        result[tuple(row[name] for name in names)] += chance
    return result


@pytest.mark.parametrize(
    "names",
    [
        ("gender",),
        ("income",),
        ("region", "gender"),
        ("income", "gender"),
        ("education", "income"),
        ("income", "region", "education", "gender"),
    ],
)
def test_joint_sums_over_all_other_attributes(population, names):
    joint = population.joint(*names)
    np.testing.assert_allclose(joint, brute_force(population, *names), rtol=1e-13)
    assert joint.sum() == pytest.approx(1, abs=1e-13)


def test_target_depends_on_the_protected_attribute(population):
    joint = population.joint("gender", "income")
    assert joint[1, 1] / joint[1].sum() > joint[0, 1] / joint[0].sum() + 0.2


def test_sample_follows_the_joint_distribution(population):
    n = 200_000
    codes = population.sample(n, np.random.default_rng(7))
    names = list(codes)
    assert names == [attribute.name for attribute in ATTRIBUTES]
    shape = [attribute.k for attribute in ATTRIBUTES]
    cells = np.ravel_multi_index([codes[name] for name in names], shape)
    seen = np.bincount(cells, minlength=np.prod(shape)).reshape(shape)
    expected = population.joint(*names) * n
    assert (seen[expected == 0] == 0).all()
    possible = expected > 0
    chi = ((seen[possible] - expected[possible]) ** 2 / expected[possible]).sum()
    # 15 degrees of freedom; chance of more than 45 is below 1e-4, and the seed is fixed.
    assert possible.sum() == 16
    assert chi < 45


def test_sample_is_reproducible_and_takes_any_size(population):
    first = population.sample(50, np.random.default_rng(3))
    again = population.sample(50, np.random.default_rng(3))
    other = population.sample(50, np.random.default_rng(4))
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
    assert all(
        len(column) == 0 for column in population.sample(0, np.random.default_rng(1)).values()
    )


def test_a_category_of_weight_zero_at_the_end_is_never_drawn():
    attribute = Attribute("a", "plain", ("x", "y"))
    parent = Attribute("p", "plain", tuple(map(str, range(5000))))
    population = Population.read(
        (parent, attribute),
        {"p": {"weights": {"4999": 1}}, "a": {"given": "p", "weights": {"*": {"x": 1}}}},
    )
    assert not population.sample(100_000, np.random.default_rng(0))["a"].any()


def test_a_sum_that_is_too_large_is_not_attempted():
    attributes = [Attribute(f"a{i}", "plain", tuple(map(str, range(2000)))) for i in range(3)]
    uniform = {attribute.name: {"weights": "uniform"} for attribute in attributes}
    population = Population.read(attributes, uniform)
    assert population.joint("a0", "a1", "a2") is None
    assert population.joint("a2").shape == (2000,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gander": {"weights": "uniform"}}, "'gander', which is no attribute"),
        ({"income": None}, r"population\[income\]"),
    ],
)
def test_wrong_entries_are_refused(change, words):
    with pytest.raises(InvalidParameter, match=words):
        Population.read(ATTRIBUTES, MODEL | change)


def test_an_attribute_that_is_not_described_is_refused():
    with pytest.raises(InvalidParameter, match="does not describe region"):
        Population.read(ATTRIBUTES, {key: MODEL[key] for key in MODEL if key != "region"})


@pytest.mark.parametrize("names", [("nobody",), ("gender", "gender")])
def test_joint_refuses_unknown_and_repeated_names(population, names):
    with pytest.raises(InvalidParameter, match="the attributes are gender, region"):
        population.joint(*names)


def test_population_of_a_number_has_values_and_its_shares_are_those_of_the_anchors() -> None:
    manifest = Manifest.from_dict(
        {
            "name": "n",
            "version": 1,
            "title": "N",
            "epsilon": "4",
            "protocol": "GRR",
            "attributes": [
                {
                    "name": "income",
                    "role": "sensitive",
                    "number": {"low": 0, "high": 100, "anchors": [0, 50, 100]},
                    "missing": "none",
                }
            ],
            "population": {"income": {"weights": {"0..49": 1, "75": 1, "none": 2}}},
        }
    )
    population = Population.from_manifest(manifest)
    codes = population.sample(200, np.random.default_rng(1))
    respondents = SimulatedRespondents(manifest.attributes, codes)
    answers = {row["income"] for row in respondents.answers()}
    assert answers <= {*map(str, range(50)), "75", "none"}
    (shares,) = marginals(respondents, population)
    exact = [one["population"] for one in shares["categories"]]
    # A quarter lies evenly in 0..49, 24.5 on average; a quarter at 75; half is silent.
    assert exact == pytest.approx([0.25 * 25.5 / 50, 0.25 * 24.5 / 50 + 0.125, 0.125, 0.5])
    wide = Manifest.from_dict(
        {
            **manifest.to_dict(),
            "attributes": [
                {"name": "income", "role": "sensitive", "number": {"low": 0, "high": 10**6}}
            ],
        }
    )
    with pytest.raises(InvalidParameter, match="give respondents as a CSV file"):
        Population.from_manifest(wide)
