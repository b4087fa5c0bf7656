"""What plans and verdicts have in common: the power that is enough, and the most that is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hushpoll_shared.survey.protection import Level

N_MAX: Final = 10**9
"""Respondents up to which it is looked for how many would do."""

POWER: Final = 0.8
"""Chance to find what is looked for that is enough."""

PROTECTS: Final[Mapping[Level | None, str]] = MappingProxyType(
    {Level.WEAK: ", which protects weakly", Level.HARDLY: ", which hardly protects"}
)
"""What is said of an epsilon that would do; nothing where protection is limited or strong."""


def rounded_up(value: float, digits: int = 3) -> float:
    """Return a positive number rounded up to so many digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit - 1e-9) * unit
