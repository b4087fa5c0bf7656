"""Cross-tables from records: the truth in clear, unbiased and covering through the protocols."""

import numpy as np
import pytest

from hushpoll_analysis import Records, RecordStream, cross_table, frequencies
from hushpoll_analysis.auditing.moments import weights
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many

JOINT = np.array([[0.30, 0.02, 0.08], [0.10, 0.15, 0.35]])
"""Share of the population per gender and schooling, far from independent."""


def survey(gender="GRR", school="OUE", epsilon="4"):
    return Manifest.from_dict(
        {
            "name": "crossing",
            "version": 1,
            "title": "Crossing",
            "epsilon": epsilon,
            "attributes": [
                {"name": "school", "role": "sensitive", "protocol": school, "range": [1, 3]},
                {"name": "pay", "role": "target", "categories": ["low", "high"]},
                {
                    "name": "gender",
                    "role": "sensitive",
                    "protocol": gender,
                    "categories": ["Female", "Male"],
                },
                {"name": "area", "role": "plain", "range": [1, 4]},
            ],
        }
    ).resolve()


def draw(published, n, seed):
    rng = np.random.default_rng(seed)
    cell = rng.choice(6, n, p=JOINT.ravel())
    codes = {
        "gender": cell // 3,
        "school": cell % 3,
        "pay": (rng.random(n) < 0.2 + 0.5 * (cell // 3)).astype(int),
        "area": rng.integers(0, 4, n),
    }
    return codes, encode_many(published, codes, rng)


def test_two_clear_attributes_give_their_counted_table():
    published = survey()
    codes, records = draw(published, 700, 1)
    found = cross_table(Records(published, records), "pay", "area")
    counted = np.zeros((2, 4))
    np.add.at(counted, (codes["pay"], codes["area"]), 1)
    assert found.frequency == pytest.approx(counted / 700, abs=1e-12)
    assert (found.categories_a, found.categories_b) == (("low", "high"), ("1", "2", "3", "4"))


def test_at_epsilon_64_grr_gives_the_counted_table():
    published = survey("GRR", "GRR", "64")
    codes, records = draw(published, 5000, 2)
    found = cross_table(Records(published, records), "gender", "school")
    counted = np.zeros((2, 3))
    np.add.at(counted, (codes["gender"], codes["school"]), 1)
    assert found.frequency == pytest.approx(counted / 5000, abs=1e-3)


def test_it_is_the_mean_of_the_products_of_weights():
    published = survey("OLH", "SS", "1")
    _, records = draw(published, 3000, 3)
    decoded = Records(published, records)
    school = decoded.debiased("school")
    gender = published.attribute("gender")
    weight = weights(
        decoded.indicators("gender"),
        Channel.of(gender.oracle),
        RowWeights.of_records(Records(published, records), gender.name).shares,
    )
    products = weight[:, :, None] * school[:, None, :]
    found = cross_table(Records(published, records), "gender", "school")
    assert found.frequency == pytest.approx(products.mean(axis=0), rel=1e-8, abs=1e-10)
    assert found.standard_error == pytest.approx(products.std(axis=0) / 3000**0.5, rel=0.05)


def test_rows_columns_and_the_whole_table_sum_to_the_estimates():
    published = survey("BLH", "OUE", "2")
    _, records = draw(published, 600, 9)
    found = cross_table(Records(published, records), "gender", "school")
    alone = {one.name: one.frequency for one in frequencies(Records(published, records))}
    assert found.frequency.sum(axis=1) == pytest.approx(alone["gender"], abs=1e-9)
    assert found.frequency.sum(axis=0) == pytest.approx(alone["school"], abs=1e-9)
    assert found.frequency.sum() == pytest.approx(1, abs=1e-9)


def test_the_order_of_the_attributes_transposes_the_table():
    published = survey()
    _, records = draw(published, 400, 4)
    straight = cross_table(Records(published, records), "gender", "school")
    turned = cross_table(Records(published, records), "school", "gender")
    for values in ("frequency", "standard_error", "lower", "upper"):
        assert getattr(turned, values) == pytest.approx(getattr(straight, values).T, rel=1e-9)


def test_chunks_of_any_size_give_one_table(monkeypatch):
    published = survey("BLH", "THE")
    _, records = draw(published, 1000, 5)
    whole = cross_table(Records(published, records), "gender", "school")
    parts = cross_table(
        RecordStream.trusted(published, iter(np.array_split(records, 7))), "gender", "school"
    )
    monkeypatch.setattr("hushpoll_analysis.records.pairs.CELLS", 50)
    small = cross_table(Records(published, records), "gender", "school")
    assert whole.frequency.tolist() == parts.frequency.tolist() == small.frequency.tolist()
    assert whole.n == parts.n == small.n == 1000


@pytest.mark.parametrize(
    ("gender", "school", "a", "b"),
    [
        ("GRR", "OUE", "gender", "school"),
        ("BLH", "RAPPOR", "gender", "school"),
        ("SS", "OLH", "school", "gender"),
        ("THE", "GRR", "school", "gender"),
        ("GRR", "OUE", "pay", "school"),
    ],
)
def test_unbiased_and_covering_when_respondents_and_noise_are_redrawn(gender, school, a, b):
    published = survey(gender, school, "3")
    shares = {"gender": JOINT, "pay": np.array([[0.8, 0.2], [0.3, 0.7]]).T @ JOINT}
    truth = shares.get(a, JOINT.T)
    surveys, hits, values = 400, np.zeros(truth.shape), []
    for seed in range(surveys):
        found = cross_table(Records(published, draw(published, 500, [8, seed])[1]), a, b)
        hits += (found.lower <= truth) & (truth <= found.upper)
        values.append(found.frequency)
    error = np.std(values, axis=0)
    assert (np.abs(np.mean(values, axis=0) - truth) < 4.5 * error / surveys**0.5).all()
    assert np.abs(hits / surveys - 0.95).max() < 4.5 * (0.95 * 0.05 / surveys) ** 0.5
    # the standard errors are those of the surveys: 4.5 standard deviations of an estimated one
    assert found.standard_error == pytest.approx(error, rel=0.25)


def test_to_dict_names_each_cell():
    published = survey()
    _, records = draw(published, 100, 6)
    table = cross_table(Records(published, records), "gender", "school")
    found = table.to_dict()
    assert (found["a"], found["b"], found["n"], found["confidence"]) == (
        "gender",
        "school",
        100,
        0.95,
    )
    assert [(one["a"], one["b"]) for one in found["cells"]] == [
        (gender, school) for gender in ("Female", "Male") for school in ("1", "2", "3")
    ]
    assert found["cells"][4]["frequency"] == table.frequency[1, 1]


@pytest.mark.parametrize(
    ("a", "b", "field", "words"),
    [
        ("gender", "gender", "b", "two different attributes"),
        ("gender", "schol", "b", "school, pay, gender, area"),
        ("", "school", "a", "school, pay, gender, area"),
    ],
)
def test_each_mistake_names_field_and_remedy(a, b, field, words):
    published = survey()
    _, records = draw(published, 10, 7)
    with pytest.raises(InvalidParameter, match=words) as caught:
        cross_table(Records(published, records), a, b)
    assert caught.value.field == field


def test_no_rows_and_a_table_too_large_are_refused():
    published = survey()
    with pytest.raises(InvalidParameter, match="0 records"):
        cross_table(RecordStream(published, []), "gender", "school")
    large = Manifest.from_dict(
        {
            "name": "large",
            "version": 1,
            "title": "Large",
            "epsilon": "4",
            "attributes": [
                {"name": "one", "role": "sensitive", "protocol": "OLH", "range": [1, 60000]},
                {"name": "two", "role": "plain", "range": [1, 60000]},
            ],
        }
    ).resolve()
    with pytest.raises(InvalidParameter, match="60000 x 60000"):
        cross_table(RecordStream(large, []), "one", "two")
