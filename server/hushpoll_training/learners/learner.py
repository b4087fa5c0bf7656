"""What a learner is: a training algorithm that is fitted to a design and gives a model that scores.

A new learner is a module with a subclass of :class:`Learner` and of :class:`Fitted`, and its line
in :mod:`hushpoll_training.learner_registry`. Commands, experiments, saved models, cards and
records take everything else that they say of it from these two classes.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.parameters import Parameter, Value, check_parameters

OnProgress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, steps in all) of one fit."""

SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How to fit with any learner; of these options only the seed changes what is learned.

    Attributes
    ----------
    seed : int
        In [0, 2^31).
    threads : int
        At least 1.
    on_progress : callable, optional
        Called with (steps done, steps in all) after each step of a fit.
    noise_seed : int, optional
        What a private learner draws its noise by, for simulations alone: noise that can be drawn
        again protects nobody. By default the noise comes from the operating system's generator.

    Raises
    ------
    InvalidParameter
        For a seed or a number of threads outside these intervals.
    """

    seed: int = 0
    threads: int = 1
    on_progress: OnProgress | None = None
    noise_seed: int | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.threads < 1:
            raise InvalidParameter(
                f"threads is {self.threads}; it must be at least 1", field="threads"
            )

    def part(self, number: int, parts: int) -> FitOptions:
        """Return the options of one of several fits of equal length, counted from 0.

        Its steps are reported as those of all the fits together.
        """
        report = self.on_progress
        if report is None:
            return self
        return replace(
            self,
            on_progress=lambda done, steps: report(number * steps + done, parts * steps),
        )


class Span(NamedTuple):
    """A closed interval that tuning searches, and the step of a whole number."""

    low: float
    high: float
    step: int | None


class UnsoundModel(ValueError):
    """A file, of this name, is not as the learner writes it; the message says where and why."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(reason)
        self.file = file


@dataclass(frozen=True)
class Learner(ABC):
    """A training algorithm with its parameters.

    Parameters
    ----------
    parameters : mapping
        Some of those in `bounds`; the others get their defaults.

    Attributes
    ----------
    name : str
        What commands, configurations and saved models call it.
    label : str
        What people call it.
    description : str
        What it is, as a model card says it.
    bounds : mapping of str to Range, Choice or Names
        Its parameters: type, interval or words, and default of each.
    refused : mapping of str to str
        Names that users may expect to be parameters, each with the reason and the remedy.
    space : mapping of str to Span
        What ``hushpoll tune`` searches.
    progress_unit : str
        What the steps of a fit are, in the plural.
    needs_groups : bool
        Whether it fits only where each row's group is known in clear.
    compares_groups : bool
        Whether it fits only where there is a protected attribute, in clear or perturbed.
    reads_group : bool
        Whether its models need the group of each person who is predicted, in clear.
    measures_in_clear : bool
        Whether it measures something on rows in clear after the fit, by which predictions change.
    takes_missing : bool
        Whether rows may have no value in a column (NaN), as of a question that was not answered.
    files : tuple of str
        Names of the files that its models are saved in.
    distributions : tuple of str
        Installed packages whose versions results depend on, besides numpy and scikit-learn.
    extra : str or None
        The extra that brings `distributions`, where the extra ``train`` does not.

    Raises
    ------
    InvalidParameter
        For an unknown parameter, a wrong type or a value out of bounds.
    """

    parameters: Mapping[str, Value] = field(default_factory=dict)

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    bounds: ClassVar[Mapping[str, Parameter]]
    refused: ClassVar[Mapping[str, str]] = {}
    space: ClassVar[Mapping[str, Span]]
    progress_unit: ClassVar[str] = "steps"
    needs_groups: ClassVar[bool] = False
    compares_groups: ClassVar[bool] = False
    reads_group: ClassVar[bool] = False
    measures_in_clear: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False
    files: ClassVar[tuple[str, ...]]
    distributions: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        checked = check_parameters(self.parameters, self.bounds, self.refused, self.label)
        object.__setattr__(self, "parameters", checked)

    @property
    def steps(self) -> int:
        """How many steps of progress one fit reports."""
        return 1

    @property
    def claim(self) -> PrivacyClaim:
        """What the learner promises about the rows that it is fitted to; nothing by default."""
        return PrivacyClaim()

    @property
    def calibration(self) -> PrivacyClaim | None:
        """What it promises about further rows in clear that it reads; None if it reads none."""
        return None

    @property
    def behind(self) -> Learner:
        """The learner whose fit it changes; itself, where there is no other."""
        return self

    def held_out(self, rows: int, options: FitOptions) -> npt.NDArray[np.bool_]:
        """Draw which rows in clear it measures on and is not fitted to, bool[n]; by default none.

        With an `options.noise_seed`, two calls give the same rows.
        """
        del options
        return np.zeros(rows, np.bool_)

    def without_clear_rows(self) -> InvalidParameter:
        """Return the refusal of records alone, of a learner that measures on rows in clear."""
        return InvalidParameter(
            f"the learner {self.name} measures on rows in clear, and there are none; give a panel",
            field="panel",
        )

    def post_process(self, fitted: Fitted, design: Design, options: FitOptions) -> Fitted:
        """Return a fitted model of the learner `behind` with what is measured on rows in clear.

        Parameters
        ----------
        fitted : Fitted
            What was learned from other rows.
        design : Design
            The rows in clear.
        options : FitOptions
            Seeds.

        Raises
        ------
        InvalidParameter
            For rows on which it cannot measure.
        """
        del design, options
        return fitted

    def without_privacy(self) -> Learner:
        """Return the learner without noise of its own, which fits the NonDP baseline; often itself.

        Such a learner claims nothing, and its models are not saved.
        """
        return self

    def require_extra(self) -> None:
        """Refuse to fit without the learner's extra, at once and without importing it.

        Raises
        ------
        MissingExtra
            If one of its packages is not installed.
        """
        for distribution in self.distributions if self.extra else ():
            try:
                version(distribution)
            except PackageNotFoundError:
                raise MissingExtra(str(self.extra), f"the learner {self.name}") from None

    @abstractmethod
    def fit(self, design: Design, options: FitOptions) -> Fitted:
        """Fit; the same design, parameters and seed give the same model, but for private noise.

        A learner with a claim refuses only for what the claim takes to be public, or for numbers
        that already have their noise: whether it refuses is part of what it publishes.

        Raises
        ------
        InvalidParameter
            For labels of a single class, if the learner claims nothing.
        """

    @abstractmethod
    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> Fitted:
        """Read what :meth:`Fitted.save` gave; never by pickle.

        Parameters
        ----------
        files : mapping of str to bytes
            Content by name, for each of `files`.
        names : tuple of str
            The columns' names.
        trial : bool
            Whether another process reads them first, where reading an altered file can end one.

        Raises
        ------
        UnsoundModel
            If a file is not as :meth:`Fitted.save` writes it.
        """

    def fit_on_cluster(
        self, client: Any, parts: Sequence[Any], sizes: Sequence[int], names: tuple[str, ...],
        options: FitOptions,
    ) -> Fitted:  # fmt: skip
        """Fit to rows that the workers of a Dask cluster hold.

        Parameters
        ----------
        client : distributed.Client
            A client of the cluster.
        parts : sequence of delayed (csr_matrix[n, m] of float32, float32[n])
            Encoded rows and labels, on the workers.
        sizes : sequence of int
            Rows of each part, at least 1.
        names : tuple of str
            The columns' names.
        options : FitOptions
            The seed; workers use the threads that they were started with.

        Raises
        ------
        InvalidParameter
            If the learner cannot.
        """
        del client, parts, sizes, names, options
        raise self._cannot("does not train on a cluster; leave out the cluster")

    def reference_classifier(self, options: FitOptions) -> Any:
        """Return the library's own scikit-learn classifier, unfitted, for the reference engine.

        Raises
        ------
        InvalidParameter
            If the learner has none.
        """
        del options
        raise self._cannot("has no classifier for the reference engine; use the engine hushpoll")

    def versions(self) -> dict[str, str]:
        """Return the versions that results depend on, by distribution, and Python's."""
        return versions(*self.distributions)

    def _cannot(self, reason: str) -> InvalidParameter:
        return InvalidParameter(
            f"the learner {self.name} {reason}, or use another learner", field="learner"
        )

    def to_json(self) -> JsonMembers:
        """Return what records of runs and cards say about the learner."""
        return {
            "learner": self.name,
            "learner_is": self.description,
            "privacy": self.claim.to_json(),
            "calibration": None if self.calibration is None else self.calibration.to_json(),
            "parameters": dict(self.parameters),
        }


class Fitted(ABC):
    """What a learner, with the parameters that it was fitted with, has learned."""

    learner: Learner

    @abstractmethod
    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance of a positive label per row in the design's columns, f64[n] in [0, 1].

        Results do not depend on the number of threads.
        """

    def certificates(self, design: Design) -> Mapping[str, float]:
        """Return what the training proves of the model's fairness on some rows, by name.

        By default nothing.

        Such figures are finite. They come from the rows, and perhaps from gradients, without noise.
        They are for experiments on data that is public anyway: no file of a model, record or card
        holds them, and a model that was read from files has none, where they need more than the
        model.
        """
        del design
        return {}

    @abstractmethod
    def save(self) -> dict[str, bytes]:
        """Return the content of each of the learner's `files`."""


def versions(*distributions: str) -> dict[str, str]:
    """Return the versions of hushpoll, of what it computes with and of Python."""
    names = dict.fromkeys(("hushpoll", *distributions, "numpy", "scikit-learn"))
    return {**{name: version(name) for name in names}, "python": platform.python_version()}


def check_seed(seed: int) -> None:
    """Refuse a seed outside [0, 2^31), the range that the learners share."""
    if not 0 <= seed < SEEDS:
        raise InvalidParameter(f"seed is {seed}; it must lie in [0, 2147483648)", field="seed")
