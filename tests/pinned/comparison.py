"""Comparing what was computed with what is pinned, and saying where they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

LEARNED = "learned"
"""Below this key is what LightGBM made."""

SAME = (1e-12, 1e-13)
"""Relative and absolute tolerance of numbers where arithmetic is the same."""

ELSEWHERE = (1e-6, 1e-9)
"""The same on another processor."""

ITERATED = frozenset({"maximum likelihood", "likelihood", "shrunk", "shrinkage"})
"""Below these keys are results of iterations that end once little is left to gain."""

ITERATED_ELSEWHERE = (1e-3, 1e-3)
"""Of those on another processor: a last bit grows with each step, and can end them a step later."""

LEARNED_ELSEWHERE = (0.05, 0.05)
"""Of what LightGBM made on another processor: a last bit can move a row to another leaf."""


def differences(
    pinned: Any, computed: Any, *, same: bool, strict: bool = False, path: str = ""
) -> Iterator[str]:
    """Yield each place where two trees of JSON values differ.

    Parameters
    ----------
    pinned, computed : JSON
        What is in the file, and what was computed.
    same : bool
        Whether the file was made with the same arithmetic.
    strict : bool
        Whether floating-point numbers must agree to the last bit.
    path : str
        Where in the file; as errors name it.
    """
    keys = set(path.split("/"))
    elsewhere = ITERATED_ELSEWHERE if keys & ITERATED else ELSEWHERE
    numeric = SAME if same else elsewhere
    if isinstance(pinned, dict) and isinstance(computed, dict):
        for key in sorted(pinned.keys() | computed.keys()):
            place = f"{path}/{key}"
            if key not in computed:
                yield f"{place} is pinned and was not computed"
            elif key not in pinned:
                yield f"{place} was computed and is not pinned"
            else:
                yield from differences(
                    pinned[key], computed[key], same=same, strict=strict, path=place
                )
    elif isinstance(pinned, list) and isinstance(computed, list):
        if len(pinned) != len(computed):
            yield f"{path} has {len(computed)} entries; {len(pinned)} are pinned"
            return
        for number, (one, other) in enumerate(zip(pinned, computed, strict=True)):
            yield from differences(one, other, same=same, strict=strict, path=f"{path}/{number}")
    elif LEARNED in keys and not same:
        if not _nearly(pinned, computed):
            yield f"{path} is {computed!r}; {pinned!r} is pinned, nearly"
    elif not _agree(pinned, computed, None if strict else numeric):
        yield f"{path} is {computed!r}; {pinned!r} is pinned"


def _agree(pinned: Any, computed: Any, tolerance: tuple[float, float] | None) -> bool:
    if tolerance is not None and isinstance(pinned, float) and isinstance(computed, float):
        return _close(pinned, computed, tolerance)
    return type(pinned) is type(computed) and pinned == computed


def _nearly(pinned: Any, computed: Any) -> bool:
    """Return whether numbers are close; digests and conclusions follow the last bit."""
    one, other = _number(pinned), _number(computed)
    return one is None or other is None or _close(one, other, LEARNED_ELSEWHERE)


def _number(value: Any) -> float | None:
    """Return a number, also one that is written as text to the last bit; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _close(one: float, other: float, tolerance: tuple[float, float]) -> bool:
    return math.isclose(one, other, rel_tol=tolerance[0], abs_tol=tolerance[1])
