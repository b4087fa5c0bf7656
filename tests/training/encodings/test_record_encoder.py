"""RecordEncoder keeps scikit-learn's promises on records, and refuses what is none."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training import LDPClassifier, RecordEncoder, create_encoding, fit_records
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe

NUMBERS = "feeds a matrix of arbitrary numbers, which RecordEncoder refuses: X is uint8[n, L]"
EXPECTED = dict.fromkeys(
    [
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ],
    NUMBERS,
) | {
    "check_estimators_nan_inf": "first fits finite numbers that are no records; a record is bytes, "
    "which hold no nan",
}


@pytest.fixture(scope="module")
def collected(survey, people, perturbed):
    published = survey(epsilon="4", protocol="OUE", target={"protocol": "GRR"})
    return published, perturbed(published, people(1500))


def encoder(published, encoding="indicator", **options):
    return RecordEncoder(published, encoding=encoding, **options)


both = pytest.mark.parametrize("encoding", ["indicator", "posterior"])


def test_check_estimator_passes_where_arbitrary_numbers_are_not_taken_for_records(survey):
    results = check_estimator(
        encoder(survey()), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
    )
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed == {}
    assert {one["check_name"] for one in results if one["status"] == "xfail"} == set(EXPECTED)
    assert sum(one["status"] == "passed" for one in results) >= 19


@both
def test_what_the_checks_would_show_holds_on_records(collected, encoding):
    published, records = collected
    before = records.copy()
    made = encoder(published, encoding)
    parameters = made.get_params()
    assert made.fit(records) is made
    assert made.get_params() == parameters
    whole = made.transform(records)
    state = dict(vars(made))
    # order, subset, one row, read-only and Fortran-ordered memory, fitting again, pickling
    order = np.random.default_rng(0).permutation(len(records))
    assert (made.transform(records[order]) != whole[order]).nnz == 0
    assert (made.transform(records[7:8]) != whole[7:8]).nnz == 0
    frozen = np.asfortranarray(records)
    frozen.setflags(write=False)
    assert (made.transform(frozen) != whole).nnz == 0
    assert (pickle.loads(pickle.dumps(made)).transform(records) != whole).nnz == 0
    assert vars(made) == state
    assert (made.fit(records).transform(records) != whole).nnz == 0
    assert (made.fit_transform(records, np.zeros(len(records))) != whole).nnz == 0
    assert (records == before).all()


@both
def test_clones_and_parameters(collected, encoding):
    published, records = collected
    made = encoder(published, encoding, prior="likelihood").fit(records)
    copy = clone(made)
    assert not hasattr(copy, "features_")
    assert copy.get_params()["prior"] == "likelihood"
    assert copy.get_params()["published"].digest == published.digest
    copy.set_params(prior="projection", sparse_output=False).fit(records)
    assert isinstance(copy.transform(records), np.ndarray)
    with pytest.raises(ValueError, match="Invalid parameter 'priors'"):
        copy.set_params(priors="projection")


@both
def test_it_is_features_from_records(collected, encoding):
    published, records = collected
    made = encoder(published, encoding).fit(records)
    expected = create_encoding(encoding).fit(Records(published, records))
    found = made.transform(records)
    assert found.dtype == np.float32
    assert (found != expected.from_records(Records(published, records))).nnz == 0
    assert made.n_features_in_ == published.layout.record_size == records.shape[1]
    assert made.get_feature_names_out().tolist() == list(expected.names)


def test_set_output_gives_frames_with_the_categories_names(collected):
    published, records = collected
    made = encoder(published, sparse_output=False).set_output(transform="pandas")
    found = made.fit_transform(records[:20])
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == made.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="dense array"):
        encoder(published).set_output(transform="pandas").fit_transform(records)


def test_clear_rows_fill_the_same_columns(collected, people):
    published, records = collected
    made = encoder(published, "posterior").fit(records)
    codes = people(30)
    found = made.transform_clear(codes)
    assert (found != one_hot_features(published).from_codes(codes)).nnz == 0
    assert (encoder(published, sparse_output=False).fit(records).transform_clear(codes)
            == found.toarray()).all()  # fmt: skip
    del codes["age"]
    with pytest.raises(InvalidParameter, match="codes lack age; give one array per attribute"):
        made.transform_clear(codes)


@both
def test_a_pipeline_is_the_model_that_fit_records_fits(collected, people, encoding):
    published, records = collected
    made = encoder(published, encoding)
    labels, answered = made.labels(records)
    assert answered.all()
    line = make_pipeline(made, LDPClassifier.for_survey(published, n_estimators=12))
    line.fit(records, labels)
    model = fit_records(
        Records(published, records),
        Recipe.of({"n_estimators": 12}, encoding=encoding),
        FitOptions(),
    )
    codes = people(400, seed=9)
    ours = line[-1].predict_proba(line[0].transform_clear(codes))[:, 1]
    assert ours.tolist() == model.scores(codes).tolist()
    assert np.unique(ours).size > 20


def test_what_is_no_record_is_refused(collected):
    published, records = collected
    made = encoder(published)
    with pytest.raises(NotFittedError):
        made.transform(records)
    with pytest.raises(NotFittedError):
        made.get_feature_names_out()
    with pytest.raises(InvalidParameter, match=r"records are int64 .* needs uint8") as caught:
        made.fit(records.astype(np.int64))
    assert caught.value.field == "records"
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        made.fit(records[:0])
    with pytest.raises(InvalidParameter, match="published is of type dict; give the published"):
        RecordEncoder(published.to_dict()).fit(records)
    with pytest.raises(InvalidParameter, match="encoding is 'ohe'"):
        encoder(published, "ohe").fit(records)
