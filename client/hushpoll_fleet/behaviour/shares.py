"""How respondents behave: most as they should, and shares of them not."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from enum import StrEnum

from hushpoll_protocols.errors import InvalidParameter


class Behaviour(StrEnum):
    """What one respondent does.

    ``replay`` sends its report a second time; ``wrong-version`` sends it under the digest of a
    version that does not exist; ``offline`` keeps it for a while; ``poison-maximal`` sends a record
    made to support one category, ``poison-random`` any well-formed record.
    """

    HONEST = "honest"
    REPLAY = "replay"
    WRONG_VERSION = "wrong-version"
    OFFLINE = "offline"
    POISON_MAXIMAL = "poison-maximal"
    POISON_RANDOM = "poison-random"


MISBEHAVIOURS = tuple(one for one in Behaviour if one is not Behaviour.HONEST)
POISONERS = frozenset({Behaviour.POISON_MAXIMAL, Behaviour.POISON_RANDOM})


def parse_shares(texts: Iterable[str]) -> dict[Behaviour, float]:
    """Read ``NAME=SHARE`` for each misbehaviour.

    Raises
    ------
    InvalidParameter
        Unknown name, a name twice, a share outside (0, 1], or shares of more than 1 together.
    """
    shares: dict[Behaviour, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            behaviour = Behaviour(name)
            share = float(value)
        except ValueError:
            behaviour, share = Behaviour.HONEST, math.nan
        if behaviour not in MISBEHAVIOURS or not 0 < share <= 1:
            raise InvalidParameter(
                f"misbehave is {text!r}; give NAME=SHARE with a name out of "
                f"{', '.join(MISBEHAVIOURS)} and a share in (0, 1]",
                field="misbehave",
            )
        if behaviour in shares:
            raise InvalidParameter(f"misbehave names {name!r} twice", field="misbehave")
        shares[behaviour] = share
    if math.fsum(shares.values()) > 1:
        raise InvalidParameter(
            f"misbehave gives shares of {math.fsum(shares.values()):g} together; they must leave "
            "the honest a share of 0 or more",
            field="misbehave",
        )
    return shares


def assign(shares: Mapping[Behaviour, float], count: int, rng: random.Random) -> list[Behaviour]:
    """Return the behaviour of each respondent: each share to the nearest whole number, shuffled."""
    found: list[Behaviour] = []
    for behaviour, share in shares.items():
        found += [behaviour] * min(round(share * count), count - len(found))
    found += [Behaviour.HONEST] * (count - len(found))
    rng.shuffle(found)
    return found
