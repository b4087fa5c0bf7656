"""Fit a regression: which answers depend on which, other things equal, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers
from hushpoll_analysis.regression.effects import Averages, marginal_effects
from hushpoll_analysis.regression.fitting import LARGE, Maximum, maximise
from hushpoll_analysis.regression.inference import (
    NOISY,
    UNTOLD,
    Covariance,
    coefficients,
    covariance,
    expected_of_slopes,
    no_sets,
    telling_epsilon,
    tests,
)
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.notes import (
    note_of_unasked,
    notes_of_draws,
    notes_of_fit,
    notes_of_follow_ups,
    notes_of_sets,
)
from hushpoll_analysis.regression.outcomes import LINEAR, LOGIT
from hushpoll_analysis.regression.reduction import (
    ESTIMATORS,
    LIKELIHOOD,
    REDUCED,
    bias_of,
    is_cheap,
    too_large,
)
from hushpoll_analysis.regression.result import Mixing, Plain, Regression
from hushpoll_analysis.regression.specification import Model, family_for, refuse_flat
from hushpoll_analysis.regression.stratified import adjusted_odds
from hushpoll_analysis.regression.terms.formulas import FIELD, Formula, read_formula
from hushpoll_analysis.regression.variances import changes
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.spelling.text import show

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_SAMPLE: Final = 20_000
"""Rows of many over which averages are taken."""
_PRIOR: Final = 1.0
"""Precision, by mean squared logit, of the perturbed predictors' slopes in clear, of large fits."""
_CHEAP: Final = 1 << 21
"""Rows times combinations up to which every term gets its likelihood ratio."""


def fit(
    formula: str,
    answers: Answers,
    *,
    family: str | None = None,
    saturated: bool = False,
    robust: bool = False,
    estimator: str | None = None,
    confidence: float = 0.95,
    plain: bool = True,
    effects: bool = True,
    ratios: bool = True,
    tell: Callable[[str], object] | None = None,
) -> Regression:
    """Fit a regression of an outcome on predictors, each perturbed or in clear.

    Parameters
    ----------
    formula : str
        Such as ``outcome ~ age + C(region, ref='north')``; see
        :func:`hushpoll_analysis.regression.terms.formulas.read_formula`.
    answers : Answers
        The rows, with the law of each perturbed question.
    family : str, optional
        ``logit``, ``multinomial``, ``ordered`` or ``linear``; by default the first for two
        categories, the second for more, the last for numbers.
    saturated : bool
        Whether each combination of values in clear has its own distribution of the perturbed
        predictors, in place of a multinomial logit on the terms in clear.
    robust : bool
        Whether standard errors come from the sandwich; they do with weights or clusters.
    estimator : str, optional
        ``likelihood``: its maximum; ``reduced``: that less its first-order bias
        (:mod:`hushpoll_analysis.regression.bias`), where all slopes have Wald's intervals. By
        default the second of records of a protocol, the first of answers in clear and of laws that
        are tables, as other programs fit them.
    confidence : float
        Of each interval, in (0, 1).
    plain : bool
        Whether the regression that takes the records for answers is fitted, too.
    effects : bool
        Whether average marginal effects are computed.
    ratios : bool
        Whether terms get likelihood ratios beside Wald's tests, where these are cheap.
    tell : callable, optional
        Called with the state that the work is in.

    Raises
    ------
    InvalidParameter
        For a formula that cannot be read; an unknown column; an outcome that the family cannot
        have; columns that depend on each other; an outcome in clear that a predictor separates;
        coefficients of which the records say nothing: the message names the term.
    MissingExtra
        Without formulaic.
    """
    normal_quantile(confidence)  # it refuses a bad one
    if estimator is not None and estimator not in ESTIMATORS:
        raise InvalidParameter(
            f"estimator is {show(estimator)}; give one of {', '.join(ESTIMATORS)}",
            field="estimator",
        )
    say = tell or (lambda _: None)
    read = read_formula(formula)
    for name in read.variables:
        answers.unit_of(name)
    chosen = family_for(family, read, answers)
    if answers.n == 0:
        raise InvalidParameter("there is no row to fit; give rows without gaps", field="rows")
    if answers.clusters is not None and not np.ptp(answers.clusters):
        raise InvalidParameter(
            "all rows are of one cluster, and its errors take two or more; name another column of "
            "clusters, or none",
            field="cluster_column",
        )
    if chosen == LINEAR:
        return _linear(read, answers, robust=robust, confidence=confidence, plain=plain)
    say("reading")
    asked_all = answers.asked_all()
    model = Model.of(read, answers, chosen, saturated=saturated)
    likelihood = model.likelihood
    say("climbing")
    maximum, sample = _maximum(model)
    known = covariance(likelihood, maximum, robust=robust)
    refuse_flat(model, maximum, known)
    say("intervals")
    expected = expected_of_slopes(likelihood, sample)
    bias, of_bias = bias_of(model, maximum, known, sample, expected, estimator)
    estimates, varied = maximum.parameters, None
    if bias is not None:
        there = _less(estimates, bias)
        reduced = covariance(likelihood, maximum, robust=robust, estimates=there)
        if reduced.flat[: likelihood.outcome_size].any():
            bias, of_bias = None, [too_large("a coefficient")]
        else:
            estimates, known = there, reduced
    if bias is not None and is_cheap(likelihood):
        varied = changes(likelihood, estimates, known.inverse)
    table = coefficients(
        likelihood,
        maximum,
        known,
        confidence=confidence,
        expected_of=expected,
        bias=bias,
        changes=varied,
    )
    cheap = not no_sets(likelihood) and len(likelihood.rows.group) * likelihood.c <= _CHEAP
    cheap = cheap and ratios
    told = all(one.method != UNTOLD for one in table)
    averages = Averages(sample, estimates, known, told)
    perturbed = tuple(name for name in read.variables if answers.unit_of(name) is not None)
    say("tests and effects")
    return Regression(
        formula=formula,
        family=chosen,
        outcome=read.outcome.variables[0],
        categories=likelihood.family.domain,
        n=answers.n,
        dropped=answers.dropped,
        perturbed=perturbed,
        log_likelihood=maximum.slopes.value,
        converged=maximum.converged,
        starts=maximum.starts,
        agreed=maximum.agreed,
        steps=maximum.steps,
        estimator=REDUCED if bias is not None else LIKELIHOOD,
        standard_errors=known.kind,
        confidence=confidence,
        coefficients=tuple(table),
        mixing=tuple(_mixing(model, maximum, known)),
        tests=tuple(
            tests(likelihood, maximum, known, estimates=estimates, table=table, ratios=cheap)
        ),
        effects=tuple(marginal_effects(averages, confidence=confidence)) if effects else (),
        plain=_plain(read, asked_all, chosen) if plain and perturbed and asked_all.n else (),
        notes=(
            *notes_of_sets(table, confidence),
            *of_bias,
            *notes_of_fit(
                likelihood,
                maximum,
                known,
                sample=sample,
                saturated=len(model.design.mixing_names) == model.design.groups,
            ),
            *notes_of_draws(answers.n, asked_all.n),
            *notes_of_follow_ups(read.outcome.variables[0], likelihood.family.domain, answers),
        ),
        adjusted_odds=adjusted_odds(read, asked_all, confidence=confidence)
        if chosen == LOGIT and asked_all.n
        else (),
        averages=averages,
        predictors=read.predictors,
        columns=model.design.columns,
        times_epsilon=telling_epsilon(sample, likelihood.total)
        if any((one.expected_standard_error or 0) > NOISY for one in table)
        else None,
    )


def _linear(
    formula: Formula, answers: Answers, *, robust: bool, confidence: float, plain: bool
) -> Regression:
    """Return the linear regression of the rows that answer all questions of the formula."""
    from hushpoll_analysis.regression.linear import fit_linear

    asked_all = answers.asked_all()
    if asked_all.n == 0:
        raise InvalidParameter(
            "no record answers all questions of the formula, which a linear regression needs; "
            "leave a question out, or give another family",
            field=FIELD,
        )
    found = fit_linear(formula, asked_all, robust=robust, confidence=confidence, plain=plain)
    unasked = answers.n - asked_all.n
    return replace(found, notes=(*found.notes, *note_of_unasked(unasked))) if unasked else found


def _maximum(model: Model) -> tuple[Maximum, Likelihood]:
    """Return the maximum, and a sample of many rows, or all."""
    likelihood, answers = model.likelihood, model.answers
    work = float(len(likelihood.rows.group)) * likelihood.size**2
    if work <= LARGE:
        return maximise(likelihood, model.start), likelihood
    likelihood.prior = _PRIOR
    if answers.n < 2 * _SAMPLE:
        return maximise(likelihood, model.start), likelihood
    rng = np.random.default_rng(20_261)
    part = model.taken(np.sort(rng.choice(answers.n, _SAMPLE, replace=False)))
    return maximise(likelihood, model.start), part


def _less(parameters: Array, bias: Array) -> Array:
    """Return parameters whose first, the outcome's, are less their bias."""
    found = parameters.copy()
    found[: len(bias)] -= bias
    return found


def _mixing(model: Model, maximum: Maximum, known: Covariance) -> list[Mixing]:
    likelihood = model.likelihood
    place, found = likelihood.outcome_size, []
    for combination in model.design.hidden.names[1:]:
        for name in model.design.mixing_names:
            flat = bool(known.flat[place])
            found.append(
                Mixing(
                    combination,
                    name,
                    None if flat else float(maximum.parameters[place]),
                    None if flat else float(np.sqrt(known.matrix[place, place])),
                )
            )
            place += 1
    return found


def _plain(formula: Formula, answers: Answers, family: str) -> tuple[Plain, ...]:
    """Return the coefficients of the regression that takes the records for answers."""
    face = answers.taken_at_face_value()
    if face is None:
        return ()
    try:
        model = Model.of(formula, face, family)
        maximum = maximise(model.likelihood, model.start)
        known = covariance(model.likelihood, maximum, robust=False)
        refuse_flat(model, maximum, known)
    except InvalidParameter:
        return ()
    return tuple(
        Plain(
            one.name,
            float(maximum.parameters[place]),
            float(np.sqrt(known.matrix[place, place])),
        )
        for place, one in enumerate(model.likelihood.family.coefficients)
    )
