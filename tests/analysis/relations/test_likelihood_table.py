"""Joint tables by maximum likelihood: counted in clear, likeliest through noise, never negative."""

import numpy as np
import pytest

from hushpoll_analysis import cross_table, likelihood_table
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from relations_survey import draw, survey

JOINT = np.array([[0.30, 0.02, 0.08], [0.10, 0.15, 0.35]])


def test_clear_attributes_give_their_counted_table():
    published = survey((None, 2, ""), (None, 3, ""))
    codes, records = draw(published, JOINT, 300, 1)
    counted = np.zeros((2, 3))
    np.add.at(counted, (codes["a"], codes["b"]), 1)
    table = likelihood_table(records, ["a", "b"])
    assert table.frequency == pytest.approx(counted / 300, abs=1e-5)
    assert table.deficit <= 1e-3


def test_it_is_a_distribution_nearer_the_truth_than_the_unbiased_table():
    published = survey(("OUE", 2, "1"), ("OLH", 3, "1"))
    errors = []
    for seed in range(6):
        _, records = draw(published, JOINT, 2000, seed)
        likely = likelihood_table(records, ["a", "b"])
        assert likely.frequency.min() >= 0
        assert likely.frequency.sum() == pytest.approx(1)
        unbiased = cross_table(records, "a", "b").frequency
        errors.append([np.square(each - JOINT).sum() for each in (likely.frequency, unbiased)])
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]


def test_one_answer_in_clear_leaves_the_likelihood_of_the_other():
    """All respondents share the clear answer, so the table is the estimate of the attribute."""
    published = survey((None, 2, ""), ("RAPPOR", 3, "1"))
    _, records = draw(published, np.array([[0.2, 0.3, 0.5], [0, 0, 0]]), 800, 3)
    table = likelihood_table(records, ["a", "b"], tolerance=1e-6)
    oracle = published.attribute("b").oracle
    expected = maximum_likelihood(oracle, records.column("b"), tolerance=1e-6)
    assert table.frequency[0] == pytest.approx(expected, abs=2e-4)
    assert table.frequency[1].max() < 1e-9


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c"]])
def test_no_other_table_is_likelier(names):
    published = survey(("SS", 2, "2"), ("GRR", 3, "2"), ("BLH", 2, "2"))
    joint = np.stack([JOINT * 0.4, JOINT * 0.6], axis=2)
    _, records = draw(published, joint, 500, 4)
    progress: list[float] = []
    table = likelihood_table(records, names, on_progress=progress.append)
    assert progress[-1] == 1.0
    assert all(0 <= part <= 1 for part in progress)

    def loglikelihood(frequency):
        like = np.ones((len(records), 1))
        for name in names:
            outside = float(1 / published.attribute(name).oracle.likelihood_ratio)
            factor = np.where(records.indicators(name) == 1, 1.0, outside)
            like = (like[:, :, None] * factor[:, None, :]).reshape(len(records), -1)
        return np.log(like @ frequency.ravel()).sum()

    best = loglikelihood(table.frequency)
    rng = np.random.default_rng(1)
    for _ in range(20):
        other = rng.dirichlet(np.ones(table.frequency.size)).reshape(table.frequency.shape)
        assert loglikelihood(0.97 * table.frequency + 0.03 * other) <= best + table.deficit


def test_table_that_is_not_finished_says_what_it_lacks():
    published = survey(("OUE", 2, "1"), ("OLH", 3, "1"))
    _, records = draw(published, JOINT, 2000, 5)
    assert likelihood_table(records, ["a", "b"], max_iterations=2).deficit > 1e-3


@pytest.mark.parametrize(
    ("names", "options", "field"),
    [
        (["a"], {}, "attributes"),
        (["a", "b"], {"tolerance": 0}, "tolerance"),
        (["a", "b"], {"max_iterations": 0}, "max_iterations"),
    ],
)
def test_bad_question_is_refused_by_field(names, options, field):
    published = survey(("OUE", 2, "1"), ("OLH", 3, "1"))
    _, records = draw(published, JOINT, 20, 6)
    with pytest.raises(InvalidParameter) as refused:
        likelihood_table(records, names, **options)
    assert refused.value.field == field
