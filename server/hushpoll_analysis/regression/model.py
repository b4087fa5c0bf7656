"""Fit a regression: which answers depend on which, other things equal, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers, Categories, Numbers, Unit
from hushpoll_analysis.regression.bias import first_order_bias
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
from hushpoll_analysis.regression.outcomes import (
    FAMILIES,
    LINEAR,
    LOGIT,
    MULTINOMIAL,
    ORDERED,
    family_of,
)
from hushpoll_analysis.regression.outcomes import Coefficient as Parameter
from hushpoll_analysis.regression.result import Mixing, Plain, Regression
from hushpoll_analysis.regression.stratified import adjusted_odds
from hushpoll_analysis.regression.terms.coding import coded
from hushpoll_analysis.regression.terms.design import LARGEST, Design, design_of
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
_MOST_CATEGORIES: Final = 100
"""Categories of an outcome."""
REDUCED: Final = "reduced"
LIKELIHOOD: Final = "likelihood"
ESTIMATORS: Final = (REDUCED, LIKELIHOOD)
_MOST_BIAS: Final = 1.0
"""Standard errors above which a first-order bias is no small correction, and is not taken off."""
_BIAS_WORK: Final = 1e10
"""Products of two informations for each of the outcome's parameters, above which a bias is
estimated from fewer rows, and standard errors are taken as the same whatever is tested."""
_FEWEST: Final = 4_000
"""Rows of which it is estimated, at least."""


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
    chosen = _family(family, read, answers)
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
    model = _model(read, answers, chosen, saturated=saturated)
    likelihood = model.likelihood
    say("climbing")
    maximum, sample = _maximum(model)
    known = covariance(likelihood, maximum, robust=robust)
    _refuse_flat(model, maximum, known)
    say("intervals")
    expected = expected_of_slopes(likelihood, sample)
    bias, of_bias = _bias(model, maximum, known, sample, expected, estimator)
    estimates, varied = maximum.parameters, None
    if bias is not None:
        there = _less(estimates, bias)
        reduced = covariance(likelihood, maximum, robust=robust, estimates=there)
        if reduced.flat[: likelihood.outcome_size].any():
            bias, of_bias = None, [_too_large("a coefficient")]
        else:
            estimates, known = there, reduced
    if bias is not None and _work_of_each(likelihood) <= _BIAS_WORK:
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


def likelihood_of(formula: str, answers: Answers) -> Likelihood:
    """Return the likelihood that :func:`fit` maximises, of an outcome of categories."""
    read = read_formula(formula)
    return _model(read, answers, _family(None, read, answers), saturated=False).likelihood


@dataclass(frozen=True, eq=False)
class _Model:
    """A model and what it was made of."""

    formula: Formula
    answers: Answers
    family: str
    design: Design
    likelihood: Likelihood
    start: Array
    outcome: Unit | Places
    order: Places


def _family(family: str | None, formula: Formula, answers: Answers) -> str:
    factor = formula.outcome
    if family is not None and family not in FAMILIES:
        raise InvalidParameter(
            f"family is {show(family)}; give one of {', '.join(FAMILIES)}", field="family"
        )
    if factor.tree is not None:
        if family not in (None, LINEAR):
            raise InvalidParameter(
                f"the outcome {factor.text} is a computed number, which has the family linear; "
                "name a column, or C(column)",
                field="family",
            )
        return LINEAR
    column = answers.clear.get(factor.variables[0])
    numbers = isinstance(column, Numbers) and not factor.as_categories
    if isinstance(column, Numbers) and np.abs(column.values).max(initial=0) > LARGEST:
        raise InvalidParameter(
            f"the outcome {factor.text} has values above {LARGEST:g}; divide or correct them",
            field=FIELD,
        )
    if isinstance(column, Numbers) and column.values.size and not np.ptp(column.values):
        raise InvalidParameter(
            f"the outcome {factor.text} is {column.values[0]:g} in all rows, and nothing depends "
            "on anything then; give rows that differ in it, or another outcome",
            field=FIELD,
        )
    if numbers and family is None:
        assert isinstance(column, Numbers)  # noqa: S101  (numbers says so)
        return LOGIT if len(np.unique(column.values)) == 2 else LINEAR
    if family == LINEAR:
        return LINEAR
    number = len(_domain(formula, answers)[0])
    if family == LOGIT and number != 2:
        raise InvalidParameter(
            f"the outcome {factor.text} has {number} categories, and a logit takes 2; give the "
            "family multinomial or ordered",
            field="family",
        )
    return family or (LOGIT if number == 2 else MULTINOMIAL)


def _domain(formula: Formula, answers: Answers) -> tuple[tuple[str, ...], Places]:
    """Return the outcome's categories, the reference first, and the place of each code."""
    factor = formula.outcome
    column = answers.clear.get(factor.variables[0])
    if isinstance(column, Numbers) and not factor.as_categories:
        levels = tuple(f"{value:g}" for value in np.unique(column.values))
        found = levels, np.arange(len(levels))
    else:
        one = coded(factor, answers)
        assert one.levels is not None  # noqa: S101  (a column of categories has them)
        assert one.order is not None  # noqa: S101
        found = one.levels, one.order
    if not 2 <= len(found[0]) <= _MOST_CATEGORIES:
        raise InvalidParameter(
            f"the outcome {factor.text} has {len(found[0])} categories, and a model takes 2 to "
            f"{_MOST_CATEGORIES}; group them, or give the family linear",
            field=FIELD,
        )
    return found


def _model(formula: Formula, answers: Answers, family: str, *, saturated: bool) -> _Model:
    name = formula.outcome.variables[0]
    levels, place = _domain(formula, answers)
    if family == ORDERED and formula.outcome.reference is not None:
        raise InvalidParameter(
            f"{formula.outcome.text} names a reference, and an ordered outcome has none; leave it "
            "out",
            field=FIELD,
        )
    design = design_of(formula, answers, saturated=saturated)
    shares = np.full(len(levels), 1 / len(levels))
    unit = answers.unit_of(name)
    outcome: Unit | Places
    if unit is None:
        column = answers.clear[name]
        codes = (
            column.codes
            if isinstance(column, Categories)
            else np.searchsorted(np.unique(column.values), column.values)
        )
        outcome = place[codes]
        counts = np.bincount(outcome, answers.weights, len(levels))
        if not (counts > 0).all():
            raise InvalidParameter(
                f"no row has the outcome {name} = {levels[int(np.argmin(counts))]}; leave the "
                "category out, or merge it with another",
                field=FIELD,
            )
        shares = counts / counts.sum()
    else:
        outcome = unit
    model = family_of(family, levels, design.columns)
    order = np.argsort(place)
    likelihood = Likelihood(design, model, answers, outcome, name, order)
    start = np.zeros(likelihood.size)
    start[: likelihood.outcome_size] = model.start(shares)
    return _Model(formula, answers, family, design, likelihood, start, outcome, order)


def _maximum(model: _Model) -> tuple[Maximum, Likelihood]:
    """Return the maximum, and a sample of many rows, or all."""
    likelihood, answers = model.likelihood, model.answers
    work = float(len(likelihood.rows.group)) * likelihood.size**2
    if work <= LARGE:
        return maximise(likelihood, model.start), likelihood
    likelihood.prior = _PRIOR
    if answers.n < 2 * _SAMPLE:
        return maximise(likelihood, model.start), likelihood
    rng = np.random.default_rng(20_261)
    part = _part(model, np.sort(rng.choice(answers.n, _SAMPLE, replace=False)))
    return maximise(likelihood, model.start), part


def _part(model: _Model, rows: Places) -> Likelihood:
    """Return the likelihood of some of the rows."""
    outcome = model.outcome
    return Likelihood(
        model.design.taken(rows),
        model.likelihood.family,
        model.answers.taken(rows),
        outcome.taken(rows) if isinstance(outcome, Unit) else outcome[rows],
        model.likelihood.name,
        model.order,
    )


def _refuse_flat(model: _Model, maximum: Maximum, known: Covariance) -> None:
    """Refuse a model of which the records cannot tell a coefficient, naming its term."""
    likelihood, size = model.likelihood, model.likelihood.outcome_size
    flat = np.flatnonzero(known.flat[:size])
    if not len(flat):
        return
    family = likelihood.family
    found = [family.coefficients[int(place)] for place in flat]
    # an intercept is named where no slope is flat
    found.sort(key=lambda one: one.column is None or not family.columns[one.column].parts)
    apart = found[0] if likelihood.convex else _separating(model, found)
    one = found[0] if apart is None else apart
    column = None if one.column is None else family.columns[one.column]
    term = column.term if column is not None else "threshold"
    name = model.formula.outcome.variables[0]
    if maximum.infinite and apart is not None:
        raise InvalidParameter(
            f"the term {term} separates the outcome {name}: without end, the larger the "
            f"coefficient of {one.name}, the likelier the rows; leave the term out, or merge "
            "categories",
            field=FIELD,
        )
    if not maximum.infinite:
        raise InvalidParameter(
            f"the records cannot tell the coefficient of {one.name}, of the term {term}: they are "
            "as likely with any value of it; leave the term out, or merge categories",
            field=FIELD,
        )


def _separating(model: _Model, flat: Sequence[Parameter]) -> Parameter | None:
    """Return a flat coefficient of a column in clear, of an outcome in clear; None if none is.

    Where others are perturbed, their noise may be why the likelihood has no maximum.
    """
    clear, columns = model.answers.clear, model.likelihood.family.columns
    if model.formula.outcome.variables[0] not in clear:
        return None
    for one in flat:
        parts = () if one.column is None else columns[one.column].parts
        if parts and all(name in clear for part, _ in parts for name in part.factor.variables):
            return one
    return None


def _too_large(name: str) -> str:
    return (
        f"the first-order bias of {name} is above {_MOST_BIAS:g} standard error, too large "
        "for a correction, and the estimates are those of maximum likelihood; give more rows, "
        "or leave terms out"
    )


def _less(parameters: Array, bias: Array) -> Array:
    """Return parameters whose first, the outcome's, are less their bias."""
    found = parameters.copy()
    found[: len(bias)] -= bias
    return found


def _work_of_each(likelihood: Likelihood) -> float:
    """Return the products of two informations for each of the outcome's parameters."""
    rows = float(len(likelihood.rows.group))
    return float(2 * likelihood.outcome_size * rows * likelihood.size**2)


def _bias(
    model: _Model,
    maximum: Maximum,
    known: Covariance,
    sample: Likelihood,
    expected: Mapping[int, float],
    estimator: str | None,
) -> tuple[Array | None, list[str]]:
    """Return the bias of the outcome's estimates, None where slopes have sets, and words for it."""
    likelihood = model.likelihood
    size = likelihood.outcome_size
    if estimator is None and any(unit.patterns.of_protocol for unit in likelihood.units):
        estimator = REDUCED
    noisy = any(one > NOISY for one in expected.values()) or known.flat[:size].any()
    if estimator != REDUCED or noisy or not size:
        return None, []
    work = _work_of_each(likelihood)
    if work > _BIAS_WORK and likelihood.rows.cluster is not None:
        return None, [
            "the estimates keep their first-order bias, which takes too long to compute of so many "
            "rows in clusters"
        ]
    if work > _BIAS_WORK:
        rows = max(_FEWEST, int(model.answers.n * _BIAS_WORK / work))
        if rows < model.answers.n:
            rng = np.random.default_rng(20_263)
            sample = _part(model, np.sort(rng.choice(model.answers.n, rows, replace=False)))
            sample.prior = likelihood.prior
    else:
        sample = likelihood
    times = likelihood.total / sample.total
    bias = first_order_bias(sample, maximum.parameters, known.inverse, times=times)
    worst = np.abs(bias) / np.sqrt(np.diag(known.matrix)[:size])
    place = int(np.argmax(worst))
    name, much = likelihood.family.coefficients[place].name, float(worst[place])
    if not np.isfinite(bias).all() or much > _MOST_BIAS:
        return None, [_too_large(name)]
    return bias, [
        f"the estimates are less the first-order bias of maximum likelihood (Kosmidis and "
        f"Lunardon 2024), at most {much:.2g} of a standard error ({name})"
    ]


def _mixing(model: _Model, maximum: Maximum, known: Covariance) -> list[Mixing]:
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
        model = _model(formula, face, family, saturated=False)
        maximum = maximise(model.likelihood, model.start)
        known = covariance(model.likelihood, maximum, robust=False)
        _refuse_flat(model, maximum, known)
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
