"""The likelihood that a regression maximises, for tests and studies of it."""

from __future__ import annotations

from hushpoll_analysis.regression.answers import Answers
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.specification import Model, family_for
from hushpoll_analysis.regression.terms.formulas import read_formula


def likelihood_of(formula: str, answers: Answers) -> Likelihood:
    """Return the likelihood of a formula, of an outcome of categories."""
    read = read_formula(formula)
    return Model.of(read, answers, family_for(None, read, answers)).likelihood
