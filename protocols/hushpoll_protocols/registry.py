"""The table of protocols. A protocol is one module, one kernel module and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hushpoll_protocols.errors import InvalidParameter, refusal_of, show
from hushpoll_protocols.oracle import FrequencyOracle, check_domain
from hushpoll_protocols.oracles.grr import GRR
from hushpoll_protocols.oracles.local_hashing import BLH, OLH
from hushpoll_protocols.oracles.ss import SS
from hushpoll_protocols.oracles.the import THE
from hushpoll_protocols.oracles.unary import OUE, RAPPOR


@dataclass(frozen=True, slots=True)
class Registration:
    """Where a protocol's two halves are.

    Attributes
    ----------
    oracle : type
        The scalar side, standard library only.
    kernel : str
        Module of the array side, imported when first used.
    """

    oracle: type[FrequencyOracle]
    kernel: str


PROTOCOLS: Mapping[str, Registration] = MappingProxyType(
    {
        "GRR": Registration(GRR, "hushpoll_protocols.kernels.grr"),
        "BLH": Registration(BLH, "hushpoll_protocols.kernels.local_hashing"),
        "OLH": Registration(OLH, "hushpoll_protocols.kernels.local_hashing"),
        "RAPPOR": Registration(RAPPOR, "hushpoll_protocols.kernels.unary"),
        "OUE": Registration(OUE, "hushpoll_protocols.kernels.unary"),
        "SS": Registration(SS, "hushpoll_protocols.kernels.ss"),
        "THE": Registration(THE, "hushpoll_protocols.kernels.unary"),
    }
)
"""Every protocol by name, in the order of the paper's table."""


def create(name: str, *, k: int, epsilon: object, **parameters: object) -> FrequencyOracle:
    """Build a frequency oracle.

    Parameters
    ----------
    name : str
        A key of :data:`PROTOCOLS`.
    k : int
        Domain size, in [2, 65536].
    epsilon : str, int, float or Decimal
        In [1e-6, 64], at most 12 decimal places.
    **parameters
        ``g`` (OLH), ``omega`` (SS) or ``theta`` (THE) as a manifest publishes them; chosen by the
        protocol's own rule where not given.

    Returns
    -------
    FrequencyOracle

    Raises
    ------
    InvalidParameter
        An unknown name, a value outside its interval, or a parameter that the
        protocol does not have.
    """
    registration = PROTOCOLS.get(name) if isinstance(name, str) else None
    if registration is None:
        raise refusal_of("protocol")(f"is {show(name)}; choose one of {', '.join(PROTOCOLS)}")
    k, exact = check_domain(k, epsilon)
    kind = registration.oracle
    for parameter in parameters:
        if parameter not in kind.parameter_names:
            allowed = ", ".join(kind.parameter_names) or "no parameters"
            raise InvalidParameter(
                f"{name} does not take {parameter} (= {show(parameters[parameter])}); "
                f"it takes {allowed}",
                field=parameter,
            )
    oracle = kind.derive(k, exact, **parameters)
    if not oracle.p > oracle.q:
        raise InvalidParameter(
            f"{name} over {k} values at epsilon {exact} cannot tell the truth from the rest "
            f"(p <= q with {dict(oracle.parameters)}); raise epsilon or choose other parameters",
            field="epsilon",
        )
    return oracle
