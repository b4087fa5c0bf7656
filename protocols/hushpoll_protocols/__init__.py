"""Frequency oracles under local differential privacy: the exact law of each protocol.

The scalar side, imported here, uses the standard library alone. Array kernels are in
:mod:`hushpoll_protocols.kernels` and statistics in :mod:`hushpoll_protocols.estimation.frequencies`
(extra ``kernels``).
"""

from hushpoll_protocols.bits import Bits, ReplayBits, SecureBits
from hushpoll_protocols.epsilon import (
    EPSILON_MAX,
    EPSILON_MIN,
    EPSILON_PLACES,
    format_epsilon,
    parse_epsilon,
)
from hushpoll_protocols.errors import (
    BudgetExhausted,
    HushpollError,
    InvalidParameter,
    MalformedRecord,
    ManifestRefused,
    MissingExtra,
    TransportError,
)
from hushpoll_protocols.oracle import K_MAX, K_MIN, Disclosure, FrequencyOracle
from hushpoll_protocols.registry import PROTOCOLS, Registration, create

__all__ = [
    "EPSILON_MAX",
    "EPSILON_MIN",
    "EPSILON_PLACES",
    "K_MAX",
    "K_MIN",
    "PROTOCOLS",
    "Bits",
    "BudgetExhausted",
    "Disclosure",
    "FrequencyOracle",
    "HushpollError",
    "InvalidParameter",
    "MalformedRecord",
    "ManifestRefused",
    "MissingExtra",
    "Registration",
    "ReplayBits",
    "SecureBits",
    "TransportError",
    "create",
    "format_epsilon",
    "parse_epsilon",
]
