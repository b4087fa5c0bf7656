"""Learners whose models are networks, by what they are trained without: noise, weights of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.logistic import Matrix
from hushpoll_lab.central.network import Network
from hushpoll_protocols.bits import Bits, SecureBits
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels.words import GeneratorBits
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner, UnsoundModel

WEIGHTS = "weights.npz"


@dataclass(frozen=True)
class NetworkLearner(Learner):
    """A private learner of the weights of a network."""

    noiseless: bool = False
    """Whether the noise is left out, for the NonDP baseline."""

    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)
    public_rows: ClassVar[bool] = True
    """Whether the number of rows is taken to be public."""

    @abstractmethod
    def train(self, design: Design, options: FitOptions) -> Network:
        """Return the weights; the design has no weights of rows, nor no rows where that is told."""

    def fit(self, design: Design, options: FitOptions) -> PrivateNetwork:
        """Train; refuses weights of rows, and no rows where their number is public."""
        self.refuse(design)
        network = self.train(design, options)
        if options.on_progress is not None:
            options.on_progress(1, 1)
        return self.model(network)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> PrivateNetwork:
        """Read the weights; this needs no extra."""
        del trial  # numpy reads an altered file without harm
        try:
            return self.model(Network.load(files[WEIGHTS], len(names)))
        except ValueError as error:
            raise UnsoundModel(WEIGHTS, str(error)) from None

    def model(self, network: Network) -> PrivateNetwork:
        """Return the model of these weights."""
        return PrivateNetwork(self, network)

    def without_privacy(self) -> Self:
        """Return the same learner without noise."""
        return replace(self, noiseless=True)

    def refuse(self, design: Design) -> None:
        """Refuse weights of rows: a weight would multiply what a row can change."""
        if self.public_rows and design.label.size == 0:
            raise InvalidParameter(
                "there are 0 rows, and there is nothing to learn from; give some", field="rows"
            )
        if design.weight is not None:
            raise InvalidParameter(
                f"the learner {self.name} takes no weights of rows: its privacy counts each row "
                "once; leave the weights out, or use the learner lightgbm",
                field="weight",
            )


@dataclass(frozen=True)
class PrivateNetwork(Fitted):
    """A network and the learner that trained it."""

    learner: Any
    network: Network

    def inputs(self, table: Table) -> Matrix:
        """Return what the network is given for rows: the rows as they are."""
        return table

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance of a positive label per row, f64[n] in [0, 1]."""
        del threads
        return self.network.scores(self.inputs(table))

    def save(self) -> dict[str, bytes]:
        """Return the weights as an NPZ file."""
        return {WEIGHTS: self.network.save()}


def bits_for(options: FitOptions) -> Bits:
    """Return the operating system's generator, or a seeded one for a simulation."""
    if options.noise_seed is None:
        return SecureBits()
    return GeneratorBits(np.random.default_rng(options.noise_seed))
