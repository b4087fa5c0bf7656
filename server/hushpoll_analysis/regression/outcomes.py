"""Models of the outcome given the predictors: logit, multinomial logit, proportional odds.

Each gives ln P(y | predictors) of all Y categories from M linear predictors, with its first two
derivatives. The M linear predictors have coefficients of their own on a common design; a model that
shares some is a linear constraint on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.terms.coding import Column
from hushpoll_analysis.regression.terms.formulas import FIELD
from hushpoll_protocols.errors import InvalidParameter

Array = npt.NDArray[np.float64]

LOGIT: Final = "logit"
MULTINOMIAL: Final = "multinomial"
ORDERED: Final = "ordered"
LINEAR: Final = "linear"
FAMILIES: Final = (LOGIT, MULTINOMIAL, ORDERED, LINEAR)


@dataclass(frozen=True)
class Coefficient:
    """One parameter of the outcome's model."""

    name: str
    """Its column's name, with the category that it is of where there are several."""
    column: int | None
    """Its column of the design; None for a threshold between two ordered categories."""
    category: str | None
    """The category of the outcome that it compares with the reference."""


class Family(ABC):
    """A model of a categorical outcome, whose domain has the reference first."""

    name: ClassVar[str]

    def __init__(self, domain: Sequence[str], columns: Sequence[Column]) -> None:
        self.domain = tuple(domain)
        self.columns = tuple(columns)

    @property
    def predictors(self) -> int:
        """M."""
        return len(self.domain) - 1

    @property
    @abstractmethod
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The parameters, in order."""

    @property
    @abstractmethod
    def constraint(self) -> Array:
        """f64[M p, q]: from the parameters to the coefficients of all linear predictors."""

    @abstractmethod
    def start(self, shares: Array) -> Array:
        """Return parameters f64[q] without slopes, near these shares of the categories."""

    @abstractmethod
    def evaluate(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return ln P, f64[..., Y], its slopes, f64[..., Y, M], and minus the second ones."""

    def chances(self, eta: Array) -> Array:
        """Return P, f64[..., Y]."""
        return np.exp(self.evaluate(eta)[0])


class Multinomial(Family):
    """Logits of each category against the first."""

    name = MULTINOMIAL

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients of each category's logit."""
        one = self.predictors == 1
        return tuple(
            Coefficient(column.name if one else f"{category}: {column.name}", place, category)
            for category in self.domain[1:]
            for place, column in enumerate(self.columns)
        )

    @property
    def constraint(self) -> Array:
        """No constraint."""
        return np.eye(self.predictors * len(self.columns))

    def start(self, shares: Array) -> Array:
        """Return logits of the shares as intercepts."""
        found = np.zeros((self.predictors, len(self.columns)))
        for place, column in enumerate(self.columns):
            if not column.parts:
                found[:, place] = np.log(shares[1:] / shares[0])
        return found.ravel()

    def evaluate(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return ln P and its derivatives."""
        m = self.predictors
        if m == 1:
            one = eta[..., 0]
            soft = np.log1p(np.exp(-np.abs(one)))
            log = np.stack([-soft - np.maximum(one, 0), -soft - np.maximum(-one, 0)], axis=-1)
            p = np.exp(log[..., 1])
            first = np.stack([-p, 1 - p], axis=-1)[..., None]
            bend = np.broadcast_to((p * (1 - p))[..., None, None, None], (*p.shape, 2, 1, 1))
            return log, first, bend
        whole = np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1)
        top = whole.max(axis=-1, keepdims=True)
        log = whole - top
        log -= np.log(np.exp(log).sum(axis=-1, keepdims=True))
        p = np.exp(log[..., 1:])
        first = np.eye(m + 1)[:, 1:] - p[..., None, :]
        second = p[..., :, None] * np.eye(m) - p[..., :, None] * p[..., None, :]
        bend = np.broadcast_to(second[..., None, :, :], (*first.shape, m))
        return log, first, bend


class Logit(Multinomial):
    """The logit of yes against no: the multinomial model of two categories."""

    name = LOGIT


class ProportionalOdds(Family):
    """Cumulative logits: logit P(y <= k) = threshold_k - x'b; a slope above 0 means higher."""

    name = ORDERED

    def __init__(self, domain: Sequence[str], columns: Sequence[Column]) -> None:
        super().__init__(domain, columns)
        if not columns or columns[0].parts:
            raise InvalidParameter(
                "an ordered outcome has thresholds in place of an intercept; do not remove the "
                "intercept from the formula",
                field=FIELD,
            )

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The slopes, then the thresholds."""
        slopes = (
            Coefficient(column.name, place, None)
            for place, column in enumerate(self.columns)
            if place
        )
        between = zip(self.domain, self.domain[1:], strict=False)
        return (*slopes, *(Coefficient(f"{low}|{high}", None, None) for low, high in between))

    @property
    def constraint(self) -> Array:
        """The same slopes in each linear predictor, with the sign changed."""
        m, p = self.predictors, len(self.columns)
        matrix = np.zeros((m, p, p - 1 + m))
        for place in range(m):
            matrix[place, 0, p - 1 + place] = 1.0
            matrix[place, 1:, : p - 1] = -np.eye(p - 1)
        return matrix.reshape(m * p, -1)

    def start(self, shares: Array) -> Array:
        """Return logits of the cumulative shares as thresholds."""
        below = np.cumsum(shares)[:-1]
        return np.concatenate([np.zeros(len(self.columns) - 1), np.log(below / (1 - below))])

    def evaluate(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return ln P and its derivatives; ln P is -inf where thresholds are out of order."""
        m = self.predictors
        shape = eta.shape[:-1]
        below = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
        slope = below * (1 - below)
        bend = slope * (1 - 2 * below)
        edge = np.zeros((*shape, 1))
        p = np.diff(np.concatenate([edge, below, edge + 1], axis=-1), axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(p > 0, np.log(np.maximum(p, 1e-300)), -np.inf)
        # thresholds in another order are no model: nothing has a chance
        log[(p < 0).any(axis=-1)] = -np.inf
        inverse = np.where(p > 1e-100, 1 / np.maximum(p, 1e-100), 0.0)
        first = np.zeros((*shape, m + 1, m))
        second = np.zeros((*shape, m + 1, m, m))
        for k in range(m):
            first[..., k, k] = slope[..., k] * inverse[..., k]
            first[..., k + 1, k] = -slope[..., k] * inverse[..., k + 1]
            second[..., k, k, k] = -bend[..., k] * inverse[..., k]
            second[..., k + 1, k, k] = bend[..., k] * inverse[..., k + 1]
        second += first[..., :, None] * first[..., None, :]
        return log, first, second


def family_of(name: str, domain: Sequence[str], columns: Sequence[Column]) -> Family:
    """Return the model of a categorical outcome by its name."""
    if name == ORDERED:
        return ProportionalOdds(domain, columns)
    return (Logit if name == LOGIT else Multinomial)(domain, columns)
