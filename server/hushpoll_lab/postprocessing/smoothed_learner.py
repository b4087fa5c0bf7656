"""Linear learners whose predictions are smoothed by Gaussian noise on the weights.

After FairSmooth (Jin et al., ICML 2022) and DPSGD-Smooth, as Tran et al. (FairDP, section 4.2) use
them for logistic regression. The smoothed prediction of a linear model is positive with a known
chance; a coin of the row decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.logistic import Vector
from hushpoll_lab.certificates.smoothing import (
    positive_chances,
    worst_case,
)
from hushpoll_lab.learners.dpsgd import DPSGD
from hushpoll_lab.learners.output_perturbation import (
    OutputPerturbation,
    with_constant,
)
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner, Span, UnsoundModel
from hushpoll_training.learners.parameters import Parameter, Range, Value
from hushpoll_training.mitigation.coins import KEY_BYTES, row_coins

COINS = "coins.json"
SMOOTHING = Range(float, 1e-6, 1e6, 1.0)


@dataclass(frozen=True)
class SmoothedLogistic(Learner):
    """Logistic regression without privacy of its own, with smoothed predictions.

    `smoothing` is the deviation of the Gaussian noise of each weight. The larger it is, the closer
    to one half is the chance of every prediction.
    """

    name: ClassVar[str] = "smoothed-logistic"
    label: ClassVar[str] = "smoothed logistic regression"
    description: ClassVar[str] = (
        "Logistic regression with an l2 penalty; predictions drawn as if its weights had noise"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        **{name: OutputPerturbation.bounds[name] for name in ("penalty", "radius")},
        "smoothing": SMOOTHING,
    }
    space: ClassVar[Mapping[str, Span]] = {"smoothing": Span(0.1, 10.0, None)}
    files: ClassVar[tuple[str, ...]] = (*OutputPerturbation.files, COINS)
    distributions: ClassVar[tuple[str, ...]] = OutputPerturbation.distributions

    @property
    def behind(self) -> Learner:
        """The learner behind, with its parameters."""
        return OutputPerturbation(self._parameters_behind()).without_privacy()

    @property
    def claim(self) -> PrivacyClaim:
        """That of the learner behind: smoothing reads no training rows."""
        return self.behind.claim

    def without_privacy(self) -> Learner:
        """Return the learner behind without noise, and without smoothing."""
        return self.behind.without_privacy()

    def fit(self, design: Design, options: FitOptions) -> SmoothedModel:
        """Fit the learner behind, and draw the key of the coins."""
        key = np.random.default_rng([options.seed, 1]).bytes(KEY_BYTES)
        return SmoothedModel(self, self.behind.fit(design, options), key)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> SmoothedModel:
        """Read the model of the learner behind, and the key."""
        behind = self.behind
        own = {name: files[name] for name in behind.files}
        fitted = behind.load(own, names, trial=trial)
        try:
            key = bytes.fromhex(json.loads(files[COINS])["key"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnsoundModel(COINS, f"is no key of coins ({error})") from None
        network: Any = getattr(fitted, "network", None)
        if len(key) != KEY_BYTES or len(network.weights) != 1:
            raise UnsoundModel(COINS, "belongs to a key of another length, or no linear model")
        return SmoothedModel(self, fitted, key)

    def _parameters_behind(self) -> dict[str, Value]:
        return {name: value for name, value in self.parameters.items() if name != "smoothing"}


@dataclass(frozen=True)
class SmoothedDPSGD(SmoothedLogistic):
    """Logistic regression by DP-SGD with smoothed predictions; see `SmoothedLogistic`."""

    name: ClassVar[str] = "smoothed-dpsgd"
    label: ClassVar[str] = "smoothed DP-SGD"
    description: ClassVar[str] = (
        "Logistic regression by differentially private gradient descent; predictions drawn as if "
        "its weights had more noise"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        **{name: allowed for name, allowed in DPSGD.bounds.items() if name != "hidden"},
        "smoothing": SMOOTHING,
    }
    progress_unit: ClassVar[str] = DPSGD.progress_unit
    files: ClassVar[tuple[str, ...]] = (*DPSGD.files, COINS)
    distributions: ClassVar[tuple[str, ...]] = DPSGD.distributions
    extra: ClassVar[str | None] = DPSGD.extra

    @property
    def behind(self) -> Learner:
        """The learner behind, with its parameters."""
        return DPSGD({**self._parameters_behind(), "hidden": 0})


@dataclass(frozen=True)
class SmoothedModel(Fitted):
    """A fitted linear model, and the key of the coins that decide its predictions."""

    learner: SmoothedLogistic
    fitted: Any
    key: bytes

    @property
    def weights(self) -> Vector:
        """The weights of the columns, and last the intercept: f64[m + 1]."""
        weights: Vector = self.fitted.network.linear_weights
        return weights

    @property
    def certificate(self) -> float:
        """Return :func:`certificates.smoothing.worst_case` of the weights."""
        return worst_case(self.weights, float(self.learner.parameters["smoothing"]))

    def chances(self, table: Table) -> npt.NDArray[np.float64]:
        """Return the chance that each row's prediction is positive, f64[n] in [0, 1]."""
        rows = with_constant(self.fitted.inputs(table))
        return positive_chances(rows, self.weights, float(self.learner.parameters["smoothing"]))

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return scores in [0, 1] that are above one half where the prediction is positive.

        Within the rows that are predicted alike, they are in the order of the chances.
        """
        del threads
        chances = self.chances(table)
        positive = row_coins(table, self.key) < chances
        return np.where(positive, np.nextafter(0.5, 1) + chances * 0.4999, chances * 0.5)

    def save(self) -> dict[str, bytes]:
        """Return the files of the model behind, and the key as JSON."""
        return {**self.fitted.save(), COINS: json.dumps({"key": self.key.hex()}).encode()}
