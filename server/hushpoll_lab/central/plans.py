"""What plans of private trainings have in common: checks of their numbers, and steps of epochs."""

from __future__ import annotations

from collections.abc import Mapping

from hushpoll_lab.central.accounting import Schedule
from hushpoll_protocols.errors import InvalidParameter


def check_plan(
    *,
    counts: Mapping[str, int] | None = None,
    positive: Mapping[str, float] | None = None,
    unsigned: Mapping[str, float] | None = None,
) -> None:
    """Refuse the first number of a plan that is not at least 1, above 0 or at least 0."""
    for name, count in (counts or {}).items():
        if count < 1:
            raise InvalidParameter(f"{name} is {count}; it must be at least 1", field=name)
    for name, value in (positive or {}).items():
        if not value > 0:
            raise InvalidParameter(f"{name} is {value}; it must be positive", field=name)
    for name, value in (unsigned or {}).items():
        if not value >= 0:
            raise InvalidParameter(f"{name} is {value}; it must be at least 0", field=name)


def epochs_schedule(rows: int, *, epochs: int, batch_size: int) -> Schedule:
    """Return sampling rate and steps, as an accountant needs them, of expected passes over rows."""
    rate = min(1.0, batch_size / rows)
    return Schedule(rate, max(1, round(epochs / rate)))
