"""What a model says in chances: average marginal effects, and predicted chances at stated values.

An average is over the rows as they are, each with the combinations of perturbed predictors as the
model says they are likely given its values in clear. Its standard error follows from the parameters
by the delta method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.inference import Covariance
from hushpoll_analysis.regression.likelihood import CELLS, Likelihood
from hushpoll_analysis.regression.terms.coding import CodedFactor, Values
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.nearest import remedy_for
from hushpoll_shared.spelling.text import show

Array = npt.NDArray[np.float64]

_STEP: Final = 1e-3
"""Standard deviations by which a number is changed for its derivative."""


@dataclass(frozen=True)
class Chance:
    """A chance of a category of the outcome, or a difference of two, with its interval."""

    values: str
    """The values that are compared, or stated."""
    category: str
    estimate: float
    standard_error: float | None
    """None, as the limits, where no interval is known to hold: the chance may be any."""
    lower: float | None
    upper: float | None
    too_noisy: bool = False
    """Whether it follows from a slope that is too noisy to tell."""

    def to_dict(self) -> dict[str, str | float | None]:
        """Return it as ``--json`` gives it."""
        members = asdict(self)
        return {"what": members.pop("values"), **members}


@dataclass(frozen=True, eq=False)
class Averages:
    """Average chances of a fitted model."""

    likelihood: Likelihood
    parameters: Array
    """f64[q], estimates."""
    covariance: Covariance
    """The covariance of the parameters."""
    told: bool = True
    """Whether chances have intervals; not of a model whose slopes have none."""

    def at(self, clear: Values, hidden: Values) -> tuple[Array, Array]:
        """Return the average chances f64[Y] at other values, and their gradients f64[Y, q]."""
        of, design = self.likelihood, self.likelihood.design
        b, mixing = of.split(self.parameters)
        u, v = design.clear_part(clear), design.hidden_part(hidden)
        sizes = of.group_sizes / of.group_sizes.sum()
        m, p, r = of.family.predictors, of.p, of.r
        value = np.zeros(of.y)
        by_b, by_mixing = np.zeros((of.y, m, p)), np.zeros((of.y, of.c - 1, r))
        step = max(1, CELLS // (of.c * of.y * max(m * m, 2)))
        for start in range(0, design.groups, step):
            part = slice(start, start + step)
            eta = np.stack([(u[part] * row) @ v.T for row in b], axis=-1)
            log, first, _ = of.family.evaluate(eta)
            shares = np.exp(of.shares(mixing, design.z[part])) * sizes[part][:, None]
            chance = np.exp(log) * shares[:, :, None]
            value += chance.sum(axis=(0, 1))
            slope = chance[..., None] * first
            for y in range(of.y):
                for one in range(m):
                    by_b[y, one] += (u[part] * (slope[:, :, y, one] @ v)).sum(axis=0)
            if r:
                mean = chance.sum(axis=1) / np.maximum(sizes[part], 1e-300)[:, None]
                apart = chance - shares[:, :, None] * mean[:, None, :]
                by_mixing += np.einsum("gcy,gr->ycr", apart[:, 1:], design.z[part])
        gradient = np.concatenate(
            [by_b.reshape(of.y, -1) @ of.constraint, by_mixing.reshape(of.y, -1)], axis=1
        )
        return value, gradient

    def chances(self, of: str, value: Array, gradient: Array, confidence: float) -> list[Chance]:
        """Return chances, or differences, with standard errors and Wald's intervals if told."""
        z = self.covariance.quantile(confidence)
        variance = np.einsum("yi,ij,yj->y", gradient, self.covariance.matrix, gradient)
        errors = np.sqrt(np.maximum(variance, 0))
        domain = self.likelihood.family.domain
        shown = range(len(domain)) if len(domain) > 2 else (1,)
        if not self.told:
            return [
                Chance(of, domain[y], float(value[y]), None, None, None, too_noisy=True)
                for y in shown
            ]
        return [
            Chance(
                of,
                domain[y],
                float(value[y]),
                float(errors[y]),
                float(value[y] - z * errors[y]),
                float(value[y] + z * errors[y]),
            )
            for y in shown
        ]


def marginal_effects(averages: Averages, *, confidence: float) -> list[Chance]:
    """Return the average marginal effect of each predictor.

    Of a category it is the difference of average chances if all rows had it and if all had the
    reference; of a number, the mean derivative.
    """
    design = averages.likelihood.design
    found: list[Chance] = []
    for name, factor in _predictors(averages.likelihood).items():
        clear, hidden = dict(design.clear), dict(design.hidden.codes)
        place: dict[str, npt.NDArray[np.float64] | npt.NDArray[np.int64]]
        place = clear if name in clear else hidden
        values = place[name]
        if factor is not None and factor.levels is not None:
            base = None
            for level, text in enumerate(factor.levels):
                place[name] = np.full(values.shape, _code(factor, level))
                value, gradient = averages.at(clear, hidden)
                if base is None:
                    base = value, gradient
                    continue
                what = f"{name}: {text} instead of {factor.levels[0]}"
                change = value - base[0], gradient - base[1]
                found += averages.chances(what, *change, confidence)
        elif name in clear and values.dtype == np.float64:
            step = _STEP * (float(values.std()) or 1.0)
            ends = []
            for side in (-1, 1):
                place[name] = np.asarray(values + side * step, np.float64)
                ends.append(averages.at(clear, hidden))
            (low, low_slope), (high, high_slope) = ends
            change = (high - low) / (2 * step), (high_slope - low_slope) / (2 * step)
            found += averages.chances(f"{name}: one more", *change, confidence)
    return found


def predicted(averages: Averages, values: Mapping[str, str], *, confidence: float) -> list[Chance]:
    """Return average chances if all rows had stated values, texts or numbers, of predictors."""
    design = averages.likelihood.design
    clear, hidden = dict(design.clear), dict(design.hidden.codes)
    predictors = _predictors(averages.likelihood)
    for name, text in values.items():
        if name not in predictors:
            raise InvalidParameter(
                f"at names {show(name)}, which is no predictor of the formula"
                f"{remedy_for(name, list(predictors))}",
                field="at",
            )
        factor = predictors[name]
        place: dict[str, npt.NDArray[np.float64] | npt.NDArray[np.int64]]
        place = clear if name in clear else hidden
        if factor is not None and factor.levels is not None:
            if text not in factor.levels:
                raise InvalidParameter(
                    f"at gives {name} the value {show(text)}, which is no category of it"
                    f"{remedy_for(text, factor.levels)}",
                    field="at",
                )
            code: float | int = _code(factor, factor.levels.index(text))
        else:
            try:
                code = float(text)
            except ValueError:
                raise InvalidParameter(
                    f"at gives {name} the value {show(text)}; give a number", field="at"
                ) from None
        place[name] = np.full(place[name].shape, code)
    what = ", ".join(f"{name}={text}" for name, text in values.items()) or "rows as they are"
    return averages.chances(what, *averages.at(clear, hidden), confidence)


def _predictors(likelihood: Likelihood) -> dict[str, CodedFactor | None]:
    """Return, by predictor, a factor that has its categories, if one has."""
    found: dict[str, CodedFactor | None] = {}
    for column in likelihood.family.columns:
        for one, _ in column.parts:
            for name in one.factor.variables:
                if found.get(name) is None:
                    found[name] = one if one.levels is not None else None
    return found


def _code(factor: CodedFactor, level: int) -> int | float:
    assert factor.order is not None  # noqa: S101  (it has levels)
    code = int(np.flatnonzero(factor.order == level)[0])
    return code if factor.cuts is None else float(factor.cuts[code])
