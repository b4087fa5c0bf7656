"""Training on collected records: which rows the metrics and the baseline stand on."""

import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.evaluation.evaluation import cross_validate, evaluate
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear, fit_records
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.training_run import train_collected

PARAMETERS = {"n_estimators": 10, "min_child_samples": 30}


@pytest.fixture(scope="module")
def rows(survey, people, perturbed):
    published = survey(epsilon="2")
    codes = people(3000)
    return published, codes, perturbed(published, codes), people(1500, seed=5)


def test_with_baseline_rows_both_models_are_tested_on_the_panel(rows):
    published, codes, records, panel = rows
    found = train_collected(
        Records(published, records),
        Recipe.of(PARAMETERS),
        FitOptions(3),
        panel=panel,
        baseline=codes,
    )
    clear = fit_clear(published, codes, LightGBM(PARAMETERS), FitOptions(3))
    ldp = fit_records(Records(published, records), Recipe.of(PARAMETERS), FitOptions(3))
    assert found.baseline == evaluate(clear, panel)
    assert found.ldp == evaluate(ldp, panel)
    assert found.baseline != found.ldp
    assert found.model.fitted.booster.model_to_string() == ldp.fitted.booster.model_to_string()
    assert found.mode == "records"
    assert found.tested_on == "the panel of 1500 people in clear"
    assert found.baseline_is == "fitted to the clear rows of baseline"
    assert found.unmeasured is None
    expected = {"records": 3000, "fitted": 3000, "baseline": 3000, "tested": 1500}
    assert found.rows.items() >= expected.items()
    assert set(found.timings) == {"baseline", "fit", "score"}


def test_without_baseline_rows_it_is_cross_validated_on_the_panel_and_says_so(rows):
    published, _, records, panel = rows
    found = train_collected(
        Records(published, records), Recipe.of(PARAMETERS), FitOptions(3), panel=panel
    )
    assert found.baseline == cross_validate(published, panel, LightGBM(PARAMETERS), FitOptions(3))
    assert found.baseline_is == "5-fold cross-validated on the panel"
    assert found.rows["baseline"] == 1500


def test_without_a_panel_there_are_no_metrics_and_a_reason(rows):
    published, _, records, _ = rows
    found = train_collected(Records(published, records), Recipe.of(PARAMETERS), FitOptions(3))
    assert (found.ldp, found.baseline, found.tested_on, found.baseline_is) == (None,) * 4
    assert "no panel was given" in found.unmeasured
    assert found.rows == {"records": 3000, "fitted": 3000}


def test_without_noise_both_models_are_the_same(survey, people, perturbed):
    published, codes = survey(epsilon="64"), people(3000)
    found = train_collected(
        Records(published, perturbed(published, codes)),
        Recipe.of(PARAMETERS),
        FitOptions(3),
        panel=people(1000, seed=5),
        baseline=codes,
    )
    assert found.ldp == found.baseline


def test_mistakes_are_found_before_anything_is_fitted(rows, survey, perturbed, people, monkeypatch):
    published, codes, records, panel = rows
    monkeypatch.setattr("hushpoll_training.runs.training_run.fit_records", None)
    with pytest.raises(InvalidParameter, match="0 records"):
        train_collected(
            Records(published, records[:0]), Recipe.of(PARAMETERS), FitOptions(3), panel=panel
        )
    with pytest.raises(InvalidParameter, match="nothing to test on; give a panel"):
        train_collected(
            Records(published, records), Recipe.of(PARAMETERS), FitOptions(3), baseline=codes
        )
    with pytest.raises(InvalidParameter, match="seed is"):
        train_collected(Records(published, records), Recipe.of(PARAMETERS), FitOptions(2**31))
    few = {name: values[:8] for name, values in panel.items()}
    with pytest.raises(InvalidParameter, match="rarer class"):
        train_collected(
            Records(published, records), Recipe.of(PARAMETERS), FitOptions(3), panel=few
        )
    hidden = survey(epsilon="3", target={"protocol": "OUE"})
    with pytest.raises(InvalidParameter, match="collected with OUE"):
        train_collected(
            Records(hidden, perturbed(hidden, people(10))), Recipe.of(PARAMETERS), FitOptions(3)
        )
