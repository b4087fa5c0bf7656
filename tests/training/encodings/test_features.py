"""Records and clear rows fill the same columns; LightGBM takes their names without a word."""

import lightgbm
import numpy as np
import pytest

from hushpoll_analysis import decode
from hushpoll_training.encodings.features import Features


def test_columns_are_the_categories_in_manifest_order_without_the_target(survey):
    features = Features.of(survey())
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
    found = Features.of(survey()).from_codes(codes)
    assert found.dtype == np.float32
    assert found.toarray().tolist() == [
        [0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0],
        [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1],
    ]


def test_records_that_keep_the_truth_give_the_features_of_their_rows(survey, people, perturbed):
    # at epsilon 32 per attribute GRR lies with a chance below 1e-13
    published, codes = survey(epsilon="64"), people(3000)
    features = Features.of(published)
    ours = features.from_records(perturbed(published, codes))
    assert (ours != features.from_codes(codes)).nnz == 0


@pytest.mark.parametrize("protocol", ["GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE"])
def test_features_of_records_are_their_indicators(survey, people, perturbed, protocol):
    published = survey(protocol=protocol, epsilon="2")
    records = perturbed(published, people(500))
    indicators = decode(published, records).indicators
    expected = np.concatenate([indicators[name] for name in ("gender", "age", "job")], axis=1)
    assert (Features.of(published).from_records(records).toarray() == expected).all()


def test_chunks_change_nothing(survey, people, perturbed, monkeypatch):
    published, codes = survey(epsilon="1"), people(100)
    records = perturbed(published, codes)
    features = Features.of(published)
    whole = features.from_records(records), features.from_codes(codes)
    monkeypatch.setattr("hushpoll_training.encodings.features.CELLS", 7 * 12)
    assert (features.from_records(records) != whole[0]).nnz == 0
    assert (features.from_codes(codes) != whole[1]).nnz == 0
    assert features.from_records(records[:0]).shape == (0, 12)


def test_safe_names_differ_and_are_taken_by_lightgbm_as_they_are(survey):
    names = Features.of(survey()).safe_names
    assert len(set(names)) == len(names) == 12
    table = lightgbm.Dataset(
        np.eye(12), label=np.arange(12) % 2, feature_name=list(names), params={"verbosity": 1}
    )
    assert tuple(table.construct().get_feature_name()) == names
