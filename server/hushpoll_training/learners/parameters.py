"""Parameters of learners: named, typed and bounded, so that a misspelt one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushpoll_protocols.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Range:
    """One parameter: its type, its closed interval and its default.

    In a server's job it is at most `job_limit`, unless the operator sets another limit.
    """

    kind: type[int] | type[float]
    low: float
    high: float
    default: int | float
    job_limit: int | float | None = None


def check_parameters(
    values: Mapping[str, Any], bounds: Mapping[str, Range], refused: Mapping[str, str], label: str
) -> dict[str, int | float]:
    """Return all parameters, defaults filled in, in the order of `bounds`.

    Parameters
    ----------
    values : mapping
        Those that were given.
    bounds : mapping of str to Range
        Those that there are.
    refused : mapping of str to str
        Reason and remedy for names that users may expect.
    label : str
        What people call the learner.

    Raises
    ------
    InvalidParameter
        For an unknown name (the known ones are listed), a wrong type or a value out of bounds.
    """
    for name in values:
        if name in refused:
            raise InvalidParameter(f"{name} is given, and {refused[name]}", field=str(name))
        if name not in bounds:
            raise InvalidParameter(
                f"{name!r} is no parameter of the learner; use one of {', '.join(bounds)} "
                "(seed and threads have options of their own)",
                field=str(name),
            )
    return {
        name: _check(name, values[name], allowed, label) if name in values else allowed.default
        for name, allowed in bounds.items()
    }


def _check(name: str, value: Any, allowed: Range, label: str) -> int | float:
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
            f"{label}'s default is {allowed.default}",
            field=name,
        )
    return allowed.kind(value)
