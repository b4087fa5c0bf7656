"""Fit a regression: which answers depend on which, other things equal, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers
from hushpoll_analysis.regression.bias import (
    ESTIMATORS,
    LIKELIHOOD,
    REDUCED,
    bias_of,
    is_cheap,
    too_large,
)
from hushpoll_analysis.regression.effects import Averages, marginal_effects
from hushpoll_analysis.regression.fitting import LARGE, Maximum, maximise
from hushpoll_analysis.regression.inference import (
    NOISY,
    PROFILE,
    TOO_LARGE,
    TRUSTED,
    UNTOLD,
    Coefficient,
    Covariance,
    coefficients,
    covariance,
    expected_of_slopes,
    no_sets,
    telling_epsilon,
    tests,
)
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.outcomes import LINEAR, LOGIT
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
            *_notes_of_sets(table, confidence),
            *of_bias,
            *_notes_of_fit(
                likelihood,
                maximum,
                known,
                sample=sample,
                saturated=len(model.design.mixing_names) == model.design.groups,
            ),
            *_notes_of_draws(answers.n, asked_all.n),
            *_notes_of_follow_ups(read.outcome.variables[0], likelihood.family.domain, answers),
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
    return replace(found, notes=(*found.notes, *_note_of_unasked(unasked))) if unasked else found


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


def _notes_of_draws(n: int, asked_all: int) -> list[str]:
    """Return what must be known where devices drew which questions they answer."""
    if asked_all == n:
        return []
    return [
        f"{asked_all:,} of {n:,} records answer all questions of the formula, since devices drew "
        "which they answer; the others count for what they answer, and the plain regression and "
        "adjusted odds ratios are of the former alone"
    ]


def _notes_of_follow_ups(outcome: str, categories: Sequence[str], answers: Answers) -> list[str]:
    """Return whom the slopes of a follow-up are about, by its categories, the reference first."""
    not_asked = answers.not_asked.get(outcome)
    if not_asked not in categories[1:] or len(categories) < 3:
        return []
    return [
        f"not everybody was asked {outcome}: compared with {categories[0]}, the slopes of its "
        "other answers are those among the respondents who were asked, and those of "
        f"{show(not_asked)} say who they are"
    ]


def _note_of_unasked(unasked: int) -> list[str]:
    """Return what must be known of a linear regression of records that answer all."""
    return [
        f"{unasked:,} records were left out, since their devices drew other questions; by chance "
        "alone, so the slopes are not biased"
    ]


def _notes_of_sets(table: Sequence[Coefficient], confidence: float) -> list[str]:
    """Return what stands in place of Wald's intervals, and which of them have no end."""
    if any(one.method == TOO_LARGE for one in table):
        return [
            "slopes that are too noisy for Wald's interval have none, since the sets of so large a "
            "fit take too long: leave terms out, or merge categories, to have them"
        ]
    if any(one.method == UNTOLD for one in table):
        return [
            "the set of each coefficient is the whole line, and nothing is tested, since an "
            f"expected standard error is above {TRUSTED:g}: narrower sets of such fits hold a "
            "slope less often than they say; leave randomised predictors out, or merge their "
            "categories"
        ]
    sets = [one for one in table if one.method == PROFILE]
    if not sets:
        return []
    notes = [
        f"the intervals are {100 * confidence:g} % sets of the profile likelihood, since a slope's "
        f"expected standard error is above {NOISY:g}"
    ]
    for where, names in (
        (
            "has no end on either side: the records allow any value",
            _open(sets, low=True, high=True),
        ),
        ("has no end below", _open(sets, low=True, high=False)),
        ("has no end above", _open(sets, low=False, high=True)),
    ):
        if names:
            notes.append(f"the set of {', '.join(names)} {where}")
    return notes


def _open(sets: Sequence[Coefficient], *, low: bool, high: bool) -> list[str]:
    return [one.name for one in sets if ((one.lower is None), (one.upper is None)) == (low, high)]


def _notes_of_fit(
    likelihood: Likelihood,
    maximum: Maximum,
    known: Covariance,
    *,
    sample: Likelihood,
    saturated: bool,
) -> list[str]:
    """Return what must be known of a fit; averages were taken over the rows of the sample."""
    notes = []
    if sample is not likelihood:
        notes.append(
            f"expected standard errors and marginal effects are averages over a sample of "
            f"{sample.n:,} rows; all else is of all rows"
        )
    size = likelihood.outcome_size
    if likelihood.prior and likelihood.c > 1:
        notes.append(
            "the model of the perturbed predictors has a prior as weak as one "
            "respondent, so that combinations that nobody seems to have end the climb; the "
            "outcome's model has none"
        )
    if not maximum.converged:
        notes.append(
            "the climb ended before the maximum was reached; do not use these figures, leave terms "
            "out"
        )
    if maximum.agreed < maximum.starts:
        notes.append(
            f"{maximum.starts - maximum.agreed} of {maximum.starts} starts led to a lower maximum"
        )
    if known.flat[:size].any():
        notes.append(
            "some coefficients have no finite maximum: the noise of the records is larger than "
            "what they say of them"
        )
    if known.flat[size:].any():
        notes.append(
            "of some combinations of the perturbed predictors the records suggest that nobody has "
            "them, so coefficients of their model have no finite maximum"
        )
    if likelihood.c > 1:
        notes.append(
            "each combination of values in clear has its own chances of the perturbed predictors"
            if saturated
            else "the chances of the perturbed predictors given those in clear are a multinomial "
            "logit on the terms in clear; where they depend on them in another way, slopes are "
            "biased"
        )
    return notes
