"""The encodings by name, as commands, configurations and saved models choose them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.encodings.encoding import Encoding
from hushpoll_training.encodings.indicator import Indicator, Question
from hushpoll_training.encodings.posterior import Posterior

ENCODINGS: Final[Mapping[str, type[Encoding]]] = {
    "indicator": Indicator,
    "posterior": Posterior,
    "question": Question,
}

DEFAULT: Final = "indicator"


def create_encoding(name: str = DEFAULT, *, prior: str = "shrinkage") -> Encoding:
    """Return an encoding by its name.

    Raises
    ------
    InvalidParameter
        For another name or way to estimate the prior; the known ones are listed.
    """
    if name not in ENCODINGS:
        raise InvalidParameter(
            f"encoding is {name!r}; it must be one of {', '.join(ENCODINGS)}", field="encoding"
        )
    return ENCODINGS[name](prior)
