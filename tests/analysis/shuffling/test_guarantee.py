"""The second line of the guarantee says what it rests on, and never replaces the first."""

import math
import re
from pathlib import Path

import pytest

from hushpoll_analysis import shuffle_guarantee
from hushpoll_analysis.shuffling import divergence, record_randomizer, shuffled_epsilon
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest


def survey(protocol="GRR", clear=True, sensitive=("gender", "region")):
    attributes = [
        {"name": name, "role": "sensitive", "range": [1, k]}
        for name, k in (("gender", 2), ("region", 10))
        if name in sensitive
    ]
    if clear:
        attributes.append({"name": "area", "role": "plain", "range": [1, 4]})
        attributes.append({"name": "income", "role": "target", "range": [1, 5]})
    return Manifest.from_dict(
        {
            "name": "s",
            "version": 1,
            "title": "S",
            "epsilon": "2",
            "protocol": protocol,
            "attributes": attributes,
        }
    ).resolve()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ratio_and_distance_of_a_record_are_those_of_its_protocols(protocol):
    oracles = [create(protocol, k=k, epsilon=epsilon) for k, epsilon in ((2, "1"), (10, "0.5"))]
    randomizer = record_randomizer(oracles)
    spent = sum(float(oracle.realized_epsilon) for oracle in oracles)
    assert randomizer.epsilon == pytest.approx(spent, rel=1e-9)
    each = [float(oracle.p - oracle.q) for oracle in oracles]
    assert max(each) < float(randomizer.distance) < 1 - math.prod(1 - d for d in each)


def test_distance_of_many_attributes_is_rounded_up():
    """Twelve GRR of two categories: the number of truths told is binomial."""
    oracles = [create("GRR", k=2, epsilon=f"{0.1 + number / 100:.2f}") for number in range(12)]
    randomizer = record_randomizer(oracles)
    chances = [(float(oracle.p), float(oracle.q)) for oracle in oracles]
    exact = 0.0
    for told in range(2**12):
        both = [
            math.prod(
                pair[side if told >> place & 1 else 1 - side] for place, pair in enumerate(chances)
            )
            for side in (0, 1)
        ]
        exact += max(both[0] - both[1], 0.0)
    assert exact <= float(randomizer.distance) < exact * 1.001


def test_crowd_is_what_shares_the_values_in_clear():
    found = shuffle_guarantee(survey(), 20_000)
    assert (found.crowd, found.clear) == (1000, ("area", "income"))
    assert shuffle_guarantee(survey(), 20_000, crowd=500).epsilon > found.epsilon
    assert shuffle_guarantee(survey(clear=False), 20_000).crowd == 20_000


def test_epsilon_is_that_of_the_bound_rounded_up():
    published = survey(clear=False)
    found = shuffle_guarantee(published, 5000, delta=1e-5)
    randomizer = record_randomizer([one.oracle for one in published.perturbed])
    assert found.epsilon == pytest.approx(shuffled_epsilon(randomizer, 5000, 1e-5), abs=1e-4)
    assert divergence(randomizer, 5000, found.epsilon, left_out=1e-5) <= 1e-5


def test_sentence_names_the_shuffler_and_keeps_the_local_epsilon():
    for found in (shuffle_guarantee(survey(), 20_000), shuffle_guarantee(survey(), 3)):
        assert found.sentence.startswith("If a trusted shuffler (one that removes order, time and")
        assert "The local epsilon stays 2" in found.sentence
    assert "too few for it to add anything" in found.sentence
    assert found.epsilon == 2.0
    assert found.to_dict()["sentence"] == found.sentence


def test_sentence_of_one_report_is_about_one():
    alone = shuffle_guarantee(survey(clear=False), 1)
    assert ", 1 shuffled report is too few for it to add anything." in alone.sentence


def test_nothing_that_respondents_read_speaks_of_a_shuffler():
    root = Path(__file__).parents[3]
    folders = (
        root / "client" / "hushpoll_client" / "device",
        root / "client" / "hushpoll_client_js" / "src",
        root / "server" / "hushpoll_server" / "pages",
    )
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    texts = [file for file in files if file.suffix in {".py", ".js", ".html"}]
    assert len(texts) > 20
    # A survey may draw the order of its answers, which the manifest calls `shuffle`.
    said = re.compile("shuffler|shuffling", re.IGNORECASE)
    assert [file for file in texts if said.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: shuffle_guarantee(survey(), 0), "n"),
        (lambda: shuffle_guarantee(survey(), 10, crowd=11), "crowd"),
        (lambda: shuffle_guarantee(survey(), 10, crowd=0), "crowd"),
        (lambda: shuffle_guarantee(survey(), 10, delta=1), "delta"),
        (lambda: shuffle_guarantee(survey(sensitive=()), 10), "attributes"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.field == field
