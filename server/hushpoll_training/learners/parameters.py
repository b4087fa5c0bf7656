"""LightGBM's parameters as hushpoll takes them: named, typed and bounded.

LightGBM ignores a misspelt parameter without a word. Names are those of its scikit-learn interface,
which the literature uses; the objective, seeds and threads are hushpoll's to set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.given_parameters import given_parameters


@dataclass(frozen=True, slots=True)
class Range:
    """One parameter: its type, its closed interval and LightGBM's default."""

    kind: type[int] | type[float]
    low: float
    high: float
    default: int | float


PARAMETERS: Mapping[str, Range] = {
    "n_estimators": Range(int, 1, 1_000_000, 100),
    "learning_rate": Range(float, 1e-6, 1.0, 0.1),
    "num_leaves": Range(int, 2, 131_072, 31),
    "max_depth": Range(int, -1, 10_000, -1),
    "min_child_samples": Range(int, 0, 1_000_000_000, 20),
    "min_child_weight": Range(float, 0, math.inf, 1e-3),
    "min_split_gain": Range(float, 0, math.inf, 0.0),
    "reg_alpha": Range(float, 0, math.inf, 0.0),
    "reg_lambda": Range(float, 0, math.inf, 0.0),
    "subsample": Range(float, 1e-6, 1.0, 1.0),
    "subsample_freq": Range(int, 0, 1_000_000, 0),
    "colsample_bytree": Range(float, 1e-6, 1.0, 1.0),
    "scale_pos_weight": Range(float, 1e-9, 1e9, 1.0),
    "max_bin": Range(int, 2, 65_535, 255),
}


_EARLY_STOPPING = (
    *("early_stopping", "early_stopping_round", "early_stopping_rounds", "n_iter_no_change"),
    "early_stopping_min_delta",
)


def check_parameters(given: Mapping[str, Any]) -> dict[str, int | float]:
    """Return all parameters, defaults filled in, in the order of `PARAMETERS`.

    Raises
    ------
    InvalidParameter
        For an unknown name (the known ones are listed), a wrong type or a value out of bounds.
    """
    for name in given:
        if name in _EARLY_STOPPING:
            raise InvalidParameter(
                f"{name} is given, and early stopping is not offered: it would need rows to "
                "validate on, which a cluster has no way for; choose n_estimators with hushpoll "
                "tune",
                field=str(name),
            )
        if name not in PARAMETERS:
            raise InvalidParameter(
                f"{name!r} is no parameter of the learner; use one of {', '.join(PARAMETERS)} "
                "(seed and threads have options of their own)",
                field=str(name),
            )
    return {
        name: _check(name, given[name]) if name in given else allowed.default
        for name, allowed in PARAMETERS.items()
    }


def read_parameters(texts: Iterable[str]) -> dict[str, int | float]:
    """Read ``name=value`` texts and paths of JSON files; later ones win.

    Raises
    ------
    InvalidParameter
        As :func:`check_parameters`, or if a file is not a JSON object.
    """
    return check_parameters(given_parameters(texts))


def _check(name: str, value: Any) -> int | float:
    allowed = PARAMETERS[name]
    word = "a whole number" if allowed.kind is int else "a number"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and allowed.kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if (
        not number
        or not (allowed.kind is float or isinstance(value, int))
        or not allowed.low <= value <= allowed.high
    ):
        raise InvalidParameter(
            f"{name} is {value!r}; it must be {word} in [{allowed.low:g}, {allowed.high:g}]; "
            f"LightGBM's default is {allowed.default}",
            field=name,
        )
    return allowed.kind(value)
