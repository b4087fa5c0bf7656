"""The posterior is Bayes' rule under the law of the device; a debiased indicator is no news."""

from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.records.counts import count
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training.audits.predictions import cross_fit
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.encodings.posterior import Posterior, posterior
from hushpoll_training.encodings.priors import estimate_priors, priors_from_counts
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_records, reported_labels
from hushpoll_training.models.recipe import Recipe

FEW = {"n_estimators": 12, "num_leaves": 7}


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("epsilon", ["0.1", "2", "64"])
def test_the_posterior_is_bayes_rule_on_the_exact_law(protocol, epsilon):
    oracle = create(protocol, k=5, epsilon=epsilon)
    prior = (Fraction(1, 2), Fraction(1, 4), Fraction(3, 16), Fraction(1, 16), Fraction(0))
    records = perturb(oracle, np.repeat(np.arange(5), 12), np.random.default_rng(1))
    found = posterior(indicators(oracle, records), oracle, tuple(float(one) for one in prior))
    for row, record in zip(found, records, strict=True):
        # local hashing: given its seed, as the server knows it
        joint = [prior[v] * oracle.probability(record.tobytes(), v) for v in range(5)]
        expected = [float(one / sum(joint)) for one in joint]
        assert row.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-30)


@pytest.mark.parametrize("method", ["shrinkage", "projection", "likelihood"])
def test_priors_are_near_the_truth_and_are_chances(survey, people, perturbed, method):
    published, codes = survey(epsilon="4", protocol="OUE"), people(20_000)
    priors = estimate_priors(Records(published, perturbed(published, codes)), method)
    assert list(priors) == ["gender", "age"]
    for name, prior in priors.items():
        truth = np.bincount(codes[name], minlength=len(prior)) / 20_000
        assert sum(prior) == pytest.approx(1)
        assert min(prior) >= 0
        assert np.abs(np.array(prior) - truth).max() < 0.04


@pytest.mark.parametrize("protocol", ["GRR", "OLH", "OUE", "SS"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_no_category_that_people_have_is_ruled_out_by_the_prior(
    survey, perturbed, protocol, epsilon
):
    """Zipf's law over 60 categories: projected priors are 0 for half of them or more."""
    share = 1 / np.arange(1, 61)
    share /= share.sum()
    codes = np.random.default_rng(31).choice(60, size=20_000, p=share)
    published = survey(
        epsilon=epsilon,
        attributes=[
            {"name": "place", "role": "sensitive", "protocol": protocol, "range": [1, 60]},
            {"name": "sick", "role": "target", "categories": ["no", "yes"], "positive": "yes"},
        ],
        protected={"attribute": "place", "privileged": "1", "unprivileged": "2"},
    )
    records = Records(published, perturbed(published, {"place": codes, "sick": codes % 2}))
    found = {
        method: np.array(estimate_priors(records, method)["place"])
        for method in ("shrinkage", "projection")
    }
    shrunk, projected = found["shrinkage"], found["projection"]
    features = Posterior().fit(records)
    assert features.priors == {"place": tuple(shrunk.tolist())}
    assert shrunk.min() > 0
    assert share[shrunk < share / 20].sum() == 0
    assert share[projected < share / 20].sum() > 0.02
    # What a respondent's record leaves of the respondent's own category, in nats on average.
    own = features.from_records(records).toarray()[np.arange(20_000), codes]
    assert own.min() > 0
    at_random = np.log(1 / 60)
    assert np.log(own).mean() > at_random - 0.1


def test_features_hold_the_posterior_of_what_is_perturbed_only(survey, people, perturbed):
    published = survey(epsilon="2", protocol="SS")
    records = Records(published, perturbed(published, people(300)))
    features = Posterior().fit(records)
    found = features.from_records(records).toarray()
    oracle = published.attribute("age").oracle
    assert (
        found[:, 3:9] == posterior(records.indicators("age"), oracle, features.priors["age"])
    ).all()
    assert (found[:, 9:] == records.indicators("job")).all()
    assert found[:, :3].sum(axis=1) == pytest.approx(np.ones(300))
    # who answers in clear leaves no doubt, whatever the prior
    codes = people(50)
    assert (features.from_codes(codes) != one_hot_features(published).from_codes(codes)).nnz == 0


def test_a_debiased_indicator_gives_the_trees_of_the_indicator(survey, people, perturbed):
    published = survey(epsilon="4", protocol="OUE")
    records = Records(published, perturbed(published, people(3000)))
    label, _ = reported_labels(records)
    names = ("gender", "age", "job")
    tables = [
        np.concatenate([records.indicators(name) for name in names], axis=1).astype(float),
        np.concatenate([records.debiased(name) for name in names], axis=1),
    ]
    columns = one_hot_features(published).names
    plain, affine = (
        LightGBM(FEW).fit(Design(table, label, columns), FitOptions(1)).scores(table)
        for table in tables
    )
    assert np.unique(plain).size > 20
    assert (plain == affine).all()
    posteriors = fit_records(records, Recipe.of(FEW, encoding="posterior"), FitOptions(1))
    found = posteriors.fitted.scores(posteriors.features.from_records(records))
    assert np.abs(found - plain).max() > 1e-3


def test_cross_fitting_takes_the_prior_from_the_models_own_rows(survey, people, perturbed):
    published = survey(epsilon="4", protocol="OUE")
    records = Records(published, perturbed(published, people(900)))
    recipe, options = Recipe.of(FEW, encoding="posterior"), FitOptions(2)
    before = cross_fit(records, recipe, options, folds=3)
    assert before.predicted.shape == (900,)
    indicator = cross_fit(records, Recipe.of(FEW), FitOptions(2), folds=3)
    assert (before.predicted != indicator.predicted).any()
    each = cross_fit(records, recipe, options, folds=3, protected_input="each-value")
    assert each.predicted.shape == (900, 3)


def test_another_method_or_no_records_are_refused(survey, people, perturbed):
    published = survey()
    records = Records(published, perturbed(published, people(5)))
    with pytest.raises(InvalidParameter, match=r"prior is 'em'.*shrinkage, projection, likelihood"):
        Posterior("em")
    with pytest.raises(InvalidParameter, match="0 records"):
        Posterior().fit(records.take(slice(0)))
    with pytest.raises(InvalidParameter, match="needs the records themselves"):
        priors_from_counts(published, count(records), "likelihood")
