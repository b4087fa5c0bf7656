"""Records and clear rows fill the same columns, and features are read as they were written."""

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.encodings.registry import ENCODINGS, create_encoding


def test_columns_are_the_categories_in_manifest_order_without_the_target(survey):
    features = one_hot_features(survey())
    assert features.attributes == ("gender", "age", "job")
    assert features.names == (
        "gender=Female",
        "gender=Male",
        "gender=No answer",
        *(f"age={age}" for age in range(1, 7)),
        "job=a, b",
        "job=a: b",
        "job={c}",
    )


def test_clear_rows_are_one_hot(survey):
    codes = {"gender": np.array([2, 0]), "age": np.array([5, 1]), "job": np.array([0, 2])}
    found = one_hot_features(survey()).from_codes(codes)
    assert found.dtype == np.float32
    assert found.toarray().tolist() == [
        [0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0],
        [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1],
    ]


def test_records_that_keep_the_truth_give_the_features_of_their_rows(survey, people, perturbed):
    # at epsilon 32 per attribute GRR lies with a chance below 1e-13
    published, codes = survey(epsilon="64"), people(3000)
    features = one_hot_features(published)
    ours = features.from_records(Records(published, perturbed(published, codes)))
    assert (ours != features.from_codes(codes)).nnz == 0


@pytest.mark.parametrize("protocol", ["GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE"])
def test_features_of_records_are_their_indicators(survey, people, perturbed, protocol):
    published = survey(protocol=protocol, epsilon="2")
    records = Records(published, perturbed(published, people(500)))
    expected = np.concatenate(
        [records.indicators(name) for name in ("gender", "age", "job")], axis=1
    )
    assert (one_hot_features(published).from_records(records).toarray() == expected).all()


def test_chunks_change_nothing(survey, people, perturbed, monkeypatch):
    published, codes = survey(epsilon="1"), people(100)
    records = Records(published, perturbed(published, codes))
    features = one_hot_features(published)
    whole = features.from_records(records), features.from_codes(codes)
    monkeypatch.setattr("hushpoll_training.encodings.encoding.CELLS", 7 * 12)
    assert (features.from_records(records) != whole[0]).nnz == 0
    assert (features.from_codes(codes) != whole[1]).nnz == 0
    assert features.from_records(records.take(slice(0))).shape == (0, 12)


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_features_are_read_as_they_were_written(survey, people, perturbed, name):
    published = survey(epsilon="2")
    records = Records(published, perturbed(published, people(300)))
    encoding = create_encoding(name)
    features = encoding.fit(records)
    read = Features.from_json(features.to_json(), published, encoding)
    assert read == features
    assert (read.from_records(records) != features.from_records(records)).nnz == 0


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_each_encoding_names_and_places_its_columns(survey, people, perturbed, name):
    published = survey(epsilon="2")
    records = Records(published, perturbed(published, people(50)))
    features = create_encoding(name).fit(records)
    table = features.from_records(records)
    assert table.shape == features.from_codes(people(50)).shape == (50, len(features.names))
    assert features.encoding.description
    place = features.columns_of("age")
    assert all(column.startswith("age=") for column in features.names[place])
    less = features.without("gender")
    assert less.names == features.names[place.start :]
    assert (less.from_records(records) != table[:, place.start :]).nnz == 0


def test_another_encoding_is_refused():
    with pytest.raises(InvalidParameter, match=r"encoding is 'ohe'.*indicator, posterior"):
        create_encoding("ohe")
