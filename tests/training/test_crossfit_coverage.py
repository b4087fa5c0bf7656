"""Intervals after cross-fitting cover the fitted models' fairness, learner and folds included."""

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.auditing.audit import audit
from hushpoll_training.audits.predictions import AuditInputs, cross_fit
from hushpoll_training.data.target import Target
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.recipe import Recipe

SIZES = [40, pytest.param(400, marks=pytest.mark.slow)]
RESPONDENTS = 6000


@pytest.mark.parametrize("surveys", SIZES)
def test_intervals_cover_the_average_models_fairness(
    survey, people, perturbed, monkeypatch, surveys
):
    published = survey(epsilon="6", protocol="OUE")
    target, inputs = Target.of(published), AuditInputs.of(published, "dropped")
    # stands for the population: its records are as noisy as those that the models are deployed on
    population = people(40_000, 999)
    gender, income = population["gender"], population["income"]
    rows = inputs.features.from_records(
        Records(published, perturbed(published, population, seed=4))
    )
    models = []
    fit = LightGBM.fit

    def noted(*arguments, **options):
        models.append(fit(*arguments, **options))
        return models[-1]

    monkeypatch.setattr(LightGBM, "fit", noted)
    covered = dict.fromkeys(("DI", "SPD", "EOD", "OAD"), 0)
    for number in range(surveys):
        models.clear()
        codes = people(RESPONDENTS, 10_000 + number)
        records = perturbed(published, codes, seed=[5, number])
        made = cross_fit(
            Records(published, records),
            Recipe.of({"n_estimators": 30, "num_leaves": 15}),
            FitOptions(number),
        )
        found = audit(Records(published, records), made, outlook=False)
        chosen = np.mean([inputs.predict(model, target, rows) for model in models], axis=0)
        right = np.where(income == 1, chosen, 1 - chosen)
        rate, recall, accuracy = (
            [values[(gender == group) & of].mean() for group in (0, 1)]
            for values, of in (
                (chosen, np.True_),
                (chosen, income == 1),
                (right, np.True_),
            )
        )
        truth = {
            "DI": rate[0] / rate[1],
            "SPD": rate[1] - rate[0],
            "EOD": recall[1] - recall[0],
            "OAD": accuracy[1] - accuracy[0],
        }
        for name, value in truth.items():
            covered[name] += found.metrics[name].lower <= value <= found.metrics[name].upper
    for name, hits in covered.items():
        print(name, hits / surveys)
        # three standard errors; the population of 40,000 is itself a sample
        assert abs(hits / surveys - 0.95) < 3 * (0.95 * 0.05 / surveys) ** 0.5 + 0.01, name
