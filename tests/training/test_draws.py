"""Models and audits of records of which some do not answer a question: it is missing, not 0."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import audit
from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest, Published
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.audits.records_fairness import fairness_of_records
from hushpoll_training.encodings.registry import create_encoding
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import fit_records, reported_labels
from hushpoll_training.models.recipe import Recipe

N = 6_000
NAMES = ("gender", "first", "second", "third")


def published(**more: Any) -> Published:
    attributes: list[dict[str, Any]] = [
        {"name": name, "role": "sensitive", "categories": ["no", "yes"]} for name in NAMES
    ]
    attributes.append(
        {
            "name": "income",
            "role": "target",
            "protocol": "GRR",
            "categories": ["low", "high"],
            "positive": "high",
        }
    )
    draft = {
        "name": "drawn",
        "version": 1,
        "title": "Drawn",
        "epsilon": "24",
        "protocol": "GRR",
        "attributes": attributes,
        "protected": {"attribute": "gender", "privileged": "yes", "unprivileged": "no"},
        "draws": [{"name": "rota", "blocks": ["first", "second", "third"], "answer": 2}],
    }
    return Manifest.from_dict(draft | more).resolve()


def people(n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    codes = {name: rng.integers(0, 2, n) for name in NAMES}
    codes["income"] = (rng.random(n) < 0.2 + 0.6 * codes["first"]).astype(np.int64)
    return codes


def records_of(survey: Published, codes: dict[str, Any] | None = None) -> Records:
    return Records(survey, encode_many(survey, codes or people(), np.random.default_rng(8)))


def test_a_question_that_was_not_answered_is_missing_in_the_indicators():
    records = records_of(published())
    features = create_encoding("indicator").fit(records)
    table = features.from_records(records).toarray()
    columns = table[:, features.columns_of("first")]
    answered = records.answer(["first"])
    assert 0.6 < answered.mean() < 0.73
    assert np.isnan(columns[~answered]).all()
    assert set(np.unique(columns[answered])) == {0.0, 1.0}
    assert not np.isnan(table[:, features.columns_of("gender")]).any()


@pytest.mark.parametrize("prior", ["shrinkage", "projection", "likelihood"])
def test_the_posterior_of_who_did_not_answer_is_the_prior(prior: str):
    codes = people() | {"first": (np.arange(N) % 4 == 0).astype(np.int64)}
    records = records_of(published(), codes)
    features = create_encoding("posterior", prior=prior).fit(records)
    table = features.from_records(records).toarray()
    columns = table[:, features.columns_of("first")][~records.answer(["first"])]
    assert columns == pytest.approx(np.tile(features.priors["first"], (len(columns), 1)))
    assert columns[0] == pytest.approx([0.75, 0.25], abs=0.02)


def test_a_model_learns_from_missing_features_and_from_answered_labels_alone():
    codes = people()
    for draws in ("first", "income"):
        blocks = ["second", "third", draws]
        survey = published(draws=[{"name": "rota", "blocks": blocks, "answer": 2}])
        records = records_of(survey, codes)
        label, answered = reported_labels(records)
        assert (answered == records.answer(["income"])).all()
        assert (label[answered] == codes["income"][answered]).mean() > 0.97
        model = fit_records(records, Recipe.of(), FitOptions(seed=1))
        assert model.rows == answered.sum()
        rows = model.features.from_codes(codes)
        chance = model.fitted.scores(rows, threads=1)
        assert chance[codes["first"] == 1].mean() - chance[codes["first"] == 0].mean() > 0.4


def test_a_learner_that_needs_every_value_is_refused_with_what_does():
    records = records_of(published())

    class Plain(type(Recipe.of().learner)):  # type: ignore[misc]
        takes_missing = False

    recipe = replace(Recipe.of(), learner=Plain())
    with pytest.raises(InvalidParameter, match=r"first is in the draw rota.*encoding posterior"):
        fit_records(records, recipe, FitOptions(seed=1))
    posterior = replace(recipe, encoding=create_encoding("posterior"))
    assert fit_records(records, posterior, FitOptions(seed=1)).rows == N


def test_an_audit_is_of_those_who_answer_group_and_label():
    survey = published(
        draws=[{"name": "rota", "blocks": ["gender", "income", "third"], "answer": 2}]
    )
    codes = people(30_000)
    records = records_of(survey, codes)
    predicted = (codes["gender"] | (np.arange(30_000) % 2)).astype(np.int64)
    predictions = AuditPredictions(predicted, (), "external")
    found = audit(records, predictions, outlook=False)
    both = records.answer(["gender", "income"])
    assert found.n == both.sum()
    assert 0.3 < both.mean() < 0.37
    spd = found.metrics["SPD"]
    assert spd.lower < 0.5 < spd.upper
    alone = audit(
        records.answering(["gender", "income"]),
        replace(predictions, predicted=predicted[both]),
        outlook=False,
    )
    assert alone.rates == found.rates
    # a fake answers both for sure, and a genuine report in a third of the cases
    assert alone.metrics["SPD"].poisoning.lowest > spd.poisoning.lowest
    assert spd.poisoning.fake_share == Fraction(1, 100)


def test_an_audit_of_what_nobody_answers_together_is_refused():
    survey = published(draws=[{"name": "rota", "blocks": ["gender", "income"], "answer": 1}])
    records = records_of(survey)
    predictions = AuditPredictions(np.zeros(N, np.int64), (), "external")
    with pytest.raises(InvalidParameter, match="nobody answers both"):
        audit(records, predictions, outlook=False)


def test_a_cross_fitted_audit_of_a_survey_with_a_draw_covers_the_truth():
    found = fairness_of_records(records_of(published()), Recipe.of(), FitOptions(seed=2), folds=2)
    assert found.audit.n == N
    spd = found.audit.metrics["SPD"]
    assert spd.lower < 0 < spd.upper
