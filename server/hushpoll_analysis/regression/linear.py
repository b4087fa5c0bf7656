"""Regression of a number or a score on predictors, from moments alone.

With D the debiased indicators of a row's records (:mod:`hushpoll_analysis.records.records`), whose
expectation given the truth is the one-hot truth, the normal equations

    sum over rows and combinations c of  D_c x(c) (y - x(c)'b) = 0

have the truth's as their expectation. Nothing is assumed of the residual's distribution, nor of the
perturbed predictors'. A perturbed outcome is read as its unbiased score. Standard errors come from
the sandwich; with all columns in clear they are those of ordinary least squares.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers, Numbers
from hushpoll_analysis.regression.inference import (
    WALD,
    Coefficient,
    Covariance,
    Test,
    sandwich,
    tested,
    wald,
)
from hushpoll_analysis.regression.likelihood import CELLS, spread
from hushpoll_analysis.regression.result import Plain, Regression
from hushpoll_analysis.regression.terms.coding import coded
from hushpoll_analysis.regression.terms.design import Design, design_of, first_dependent
from hushpoll_analysis.regression.terms.formulas import FIELD, Factor, Formula
from hushpoll_protocols.errors import InvalidParameter

Array = npt.NDArray[np.float64]

LEAST_SQUARES: Final = "least squares"


def fit_linear(
    formula: Formula, answers: Answers, *, robust: bool, confidence: float, plain: bool
) -> Regression:
    """Fit a linear regression; see :func:`hushpoll_analysis.regression.model.fit`.

    It refuses an outcome that is no number, columns that depend on each other, and records so noisy
    that the moments of the predictors have no inverse.
    """
    design = design_of(formula, answers)
    equations = _Equations(formula, answers, design)
    perturbed = tuple(name for name in formula.variables if answers.unit_of(name) is not None)
    known = equations.covariance(robust=robust or bool(perturbed))
    z = known.quantile(confidence)
    slopes = sum(bool(column.parts) for column in design.columns)
    far = known.quantile(confidence ** (1 / max(slopes, 1)))
    found = []
    for place, column in enumerate(design.columns):
        estimate, error = float(equations.b[place]), math.sqrt(known.matrix[place, place])
        slope = bool(column.parts)
        statistic = estimate / error if error else None
        found.append(
            Coefficient(
                name=column.name,
                term=column.term,
                category=None,
                estimate=estimate,
                standard_error=error,
                statistic=statistic,
                p_value=None if statistic is None else known.p_value(statistic),
                lower=estimate - z * error,
                upper=estimate + z * error,
                method=WALD,
                simultaneous_lower=estimate - far * error if slope else None,
                simultaneous_upper=estimate + far * error if slope else None,
                expected_standard_error=None,
            )
        )
    return Regression(
        formula=formula.text,
        family="linear",
        outcome=formula.outcome.variables[0],
        categories=(),
        n=answers.n,
        dropped=answers.dropped,
        perturbed=perturbed,
        log_likelihood=None,
        converged=True,
        starts=1,
        agreed=1,
        steps=1,
        standard_errors=known.kind,
        confidence=confidence,
        coefficients=tuple(found),
        mixing=(),
        tests=tuple(_tests(design, equations.b, known)),
        effects=(),
        plain=_plain(formula, answers) if plain and perturbed else (),
        notes=(),
        residual=equations.residual,
        predictors=formula.predictors,
        columns=design.columns,
    )


class _Equations:
    """The normal equations of rows, and their solution b."""

    def __init__(self, formula: Formula, answers: Answers, design: Design) -> None:
        self.design, self.answers, self.hidden = design, answers, design.hidden
        self.weight = np.ones(answers.n) if answers.weights is None else answers.weights
        self.name = formula.outcome.variables[0]
        self.unit = answers.unit_of(self.name)
        names = [unit.name for unit in design.hidden.units]
        for unit in (*design.hidden.units, *(() if self.unit is None else (self.unit,))):
            if not unit.patterns.has_moments:
                raise InvalidParameter(
                    f"the law of {unit.name} does not tell true values apart in each group of "
                    "respondents by itself, which a linear regression needs; give another family",
                    field=FIELD,
                )
        self.joint = self.unit is not None and self.unit.name in names
        self.y, self.scores = self._outcome(formula)
        g, c = design.groups, design.hidden.combinations
        moments, products = np.zeros((g, c)), np.zeros((g, c))
        squares = 0.0
        for rows, d, e, s in self._parts():
            weight, group = self.weight[rows], design.group[rows]
            np.add.at(moments, group, d * weight[:, None])
            np.add.at(products, group, e * weight[:, None])
            squares += float(weight @ s)
        u, v = design.u, design.v
        a = np.zeros((u.shape[1], u.shape[1]))
        for place, row in enumerate(v):
            x = u * row
            a += x.T @ (x * moments[:, place][:, None])
        noisy = first_dependent(a)
        if noisy is not None:
            raise InvalidParameter(
                f"the records are too noisy to tell the slope of {design.columns[noisy].name}, of "
                f"the term {design.columns[noisy].term}: the estimated squares of the predictors "
                "are not positive; leave the term out, or collect more records",
                field=FIELD,
            )
        pulled = (u * (products @ v)).sum(axis=0)
        self.inverse = np.asarray(np.linalg.inv(a), np.float64)
        self.b = np.asarray(self.inverse @ pulled, np.float64)
        spread_about = squares - 2 * self.b @ pulled + self.b @ a @ self.b
        free = max(float(self.weight.sum()) * (1 - len(self.b) / answers.n), 1e-300)
        variance = spread_about / free
        self.residual: float | None = math.sqrt(variance) if variance > 0 else None

    def _outcome(self, formula: Formula) -> tuple[Array | None, Array | None]:
        """Return the outcome's number of each row, or the scores of its categories."""
        factor, answers = formula.outcome, self.answers
        if self.unit is None:
            column = answers.clear[self.name]
            if isinstance(column, Numbers) and factor.plain:
                return column.values, None
        if factor.as_categories:
            raise InvalidParameter(
                f"the outcome {factor.text} has categories, and the family linear takes numbers",
                field=FIELD,
            )
        one = coded(_computing(factor), answers)
        if self.unit is None:
            values = {
                name: column.values if isinstance(column, Numbers) else column.codes
                for name, column in answers.clear.items()
                if name in factor.variables
            }
            return one.part(values, None), None
        size = len(answers.question(self.name).domain)
        return None, one.part({self.name: np.arange(size)}, None)

    def _parts(self) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Yield rows, sums of D over outcomes, of D times the outcome, and of its square."""
        n, c = self.answers.n, self.hidden.combinations
        alone, scores = self.unit is not None and not self.joint, self.scores
        wide = c * (len(scores) if scores is not None and self.joint else 1)
        step = max(1, CELLS // wide)
        order = np.arange(0 if scores is None else len(scores))
        own = self.unit.name if self.unit is not None and self.joint else None
        middle = self._middle() if alone else 0.0
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            parts = [unit.patterns.debiased(unit.places[rows]) for unit in self.hidden.units]
            whole = spread(self.hidden.units, parts, own, self.name, order)
            whole = np.broadcast_to(whole, (rows.stop - start, *whole.shape[1:]))
            d = whole.sum(axis=1)
            if own is not None:
                assert scores is not None  # noqa: S101  (a perturbed outcome has them)
                e = np.einsum("ryc,y->rc", whole, scores)
                yield rows, d, e, np.einsum("ryc,y->r", whole, scores**2)
                continue
            if alone:
                assert self.unit is not None  # noqa: S101
                assert scores is not None  # noqa: S101
                one = self.unit.patterns.debiased(self.unit.places[rows])
                y = one @ (scores - middle) + middle
                square = one @ scores**2
            else:
                assert self.y is not None  # noqa: S101
                y = self.y[rows]
                square = y**2
            yield rows, d, d * y[:, None], square

    def _middle(self) -> float:
        """Return the mean outcome: any number would do, and this has the least variance."""
        assert self.unit is not None  # noqa: S101
        assert self.scores is not None  # noqa: S101
        total = np.zeros(len(self.scores))
        step = max(1, CELLS // len(self.scores))
        for start in range(0, self.answers.n, step):
            places = self.unit.places[start : start + step]
            total += self.unit.patterns.debiased(places).sum(axis=0)
        return float(total @ self.scores / (total.sum() or 1.0))

    def covariance(self, *, robust: bool) -> Covariance:
        """Return the covariance of b."""
        answers, design, p = self.answers, self.design, len(self.b)
        flat = np.zeros(p, bool)
        if not robust and answers.weights is None and answers.clusters is None:
            variance = 0.0 if self.residual is None else self.residual**2
            freedom = float(max(answers.n - p, 1))
            return Covariance(
                self.inverse * variance, flat, LEAST_SQUARES, freedom, np.ones(p), self.inverse
            )
        clusters = answers.clusters
        sums = None if clusters is None else np.zeros((int(clusters.max()) + 1, p))
        crossed = np.zeros((p, p))
        for rows, d, e, _ in self._parts():
            u = design.u[design.group[rows]]
            eta = (u * self.b) @ design.v.T
            score = u * ((e - d * eta) @ design.v) * self.weight[rows][:, None]
            if sums is None:
                crossed += score.T @ score
            else:
                assert clusters is not None  # noqa: S101
                np.add.at(sums, clusters[rows], score)
        if sums is not None:
            crossed = sums.T @ sums
        return sandwich(self.inverse, crossed, flat, clusters, n=answers.n, size=p)


def _computing(factor: Factor) -> Factor:
    """Return a factor that reads the categories of its column as numbers."""
    return (
        factor if factor.tree is not None else replace(factor, tree=ast.Name(factor.variables[0]))
    )


def _tests(design: Design, b: Array, known: Covariance) -> list[Test]:
    return [
        test
        for term, places in tested(design.columns)
        for test in wald(term, b[places], known, np.array(places))
    ]


def _plain(formula: Formula, answers: Answers) -> tuple[Plain, ...]:
    face = answers.taken_at_face_value()
    if face is None:
        return ()
    try:
        design = design_of(formula, face)
        equations = _Equations(formula, face, design)
        known = equations.covariance(robust=False)
    except InvalidParameter:
        return ()
    return tuple(
        Plain(column.name, float(estimate), float(error))
        for column, estimate, error in zip(
            design.columns, equations.b, np.sqrt(np.diag(known.matrix)), strict=True
        )
    )
