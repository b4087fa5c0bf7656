"""Epsilon measured from outside: how far a device's records tell two answers apart.

For two answers v and w, the event "the record supports v and not w" is the one whose chances differ
most between a person who answered v and one who answered w: by the whole factor e^epsilon. From how
often it happened under each, Clopper and Pearson's exact bounds (Biometrika 26, 1934) give a lower
bound on ln of that factor. A device that keeps to its epsilon stays below it, but for an agreed
chance alpha.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any, Final

from hushpoll_client import Published
from hushpoll_fleet.audit.devices import Device
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.manifest import Manifest

CATEGORIES: Final = 4
FEWEST_DRAWS: Final = 1_000
MOST_DRAWS: Final = 100_000_000
# The two answers whose records are told apart.
_ANSWERS: Final = (0, 1)
# Records that are held and counted at a time.
_ROWS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit of one device and one protocol found.

    Attributes
    ----------
    sdk, protocol : str
        What was audited.
    epsilon, realized_epsilon : float
        What the protocol was given, and what its exact law spends.
    draws : int
        Records drawn, half of each answer.
    lower_bound : float
        On the epsilon that the device really spends, at confidence 1 - alpha.
    reachable : float
        The lower bound that a device which spends `realized_epsilon` can be expected to show with
        so many draws.
    alpha : float
        Chance of finding more than is spent.
    """

    sdk: str
    protocol: str
    epsilon: float
    realized_epsilon: float
    draws: int
    lower_bound: float
    reachable: float
    alpha: float

    @property
    def overspends(self) -> bool:
        """Whether the device was shown to spend more than its law."""
        return self.lower_bound > self.realized_epsilon

    @property
    def share(self) -> float:
        """The bound over the realised epsilon: how sharp the audit was."""
        return self.lower_bound / self.realized_epsilon

    def to_dict(self) -> JsonMembers:
        """Return the finding as JSON."""
        return {**asdict(self), "share": self.share, "overspends": self.overspends}


def survey_of(
    protocol: str, epsilon: str, *, together: bool = False, follow_up: bool = False
) -> Published:
    """Return the survey that an audit answers, with `CATEGORIES` values that are told apart.

    It asks one question of so many categories, or two of half as many, in one block; or, in one
    block as well, one of two categories and a follow-up after the second of them.
    """
    names = ("answer", "other") if together or follow_up else ("answer",)
    k = CATEGORIES // len(names)
    draft: dict[str, Any] = {
        "name": "audit",
        "version": 1,
        "title": "Audit",
        "epsilon": epsilon,
        "split": "uniform",
        "protocol": protocol,
        "attributes": [
            {
                "name": name,
                "role": "sensitive",
                "categories": [f"answer {code}" for code in range(k)],
            }
            for name in names
        ],
    }
    if follow_up:
        # Who is not asked has one value, and each other has the first answer besides.
        other = draft["attributes"][1]
        other["categories"] = [f"answer {code}" for code in range(CATEGORIES - 1)]
        other["ask_if"] = {"answer": ["answer 1"]}
    if len(names) > 1:
        draft["together"] = [{"name": "block", "attributes": list(names)}]
    return Manifest.from_dict(draft).resolve()


def audit(
    device: Device,
    protocol: str,
    epsilon: str,
    *,
    sdk: str,
    draws: int = 1_000_000,
    alpha: float = 0.001,
    together: bool = False,
    follow_up: bool = False,
) -> Finding:
    """Audit one device's draws of one protocol.

    Parameters
    ----------
    device : callable
        See ``hushpoll_fleet.audit.devices``.
    protocol : str
        Out of ``hushpoll_protocols.PROTOCOLS``.
    epsilon : str
        Given to the protocol, in [1e-6, 64].
    sdk : str
        Name of the device, for the finding.
    draws : int
        Records to draw, in [1000, 10**8]; half of each of two answers.
    alpha : float
        Chance of finding more than is spent, in (0, 0.5].
    together : bool
        Whether the answers are those to two questions of one block.
    follow_up : bool
        Whether they are those to a question and to its follow-up, in one block.

    Raises
    ------
    InvalidParameter
        A value outside its interval, or a device that returns something else than records.
    MissingExtra
        Without numpy and scipy.
    """
    if not FEWEST_DRAWS <= draws <= MOST_DRAWS:
        raise InvalidParameter(
            f"draws is {draws}; give an integer in [{FEWEST_DRAWS}, {MOST_DRAWS}]", field="draws"
        )
    if not 0 < alpha <= 0.5:
        raise InvalidParameter(f"alpha is {alpha}; give a number in (0, 0.5]", field="alpha")
    published = survey_of(protocol, epsilon, together=together, follow_up=follow_up)
    oracle = published.blocks[0].oracle
    n = draws // 2
    # hits[v][w]: records of answer v that support w and not the other
    hits = {value: _hits(device, published, value, n) for value in _ANSWERS}
    # Both directions, each with two bounds, so each bound is allowed a quarter of alpha.
    bound = max(
        _lower_bound(hits[v][v], hits[w][v], n, alpha / 4) for v, w in permutations(_ANSWERS)
    )
    return Finding(
        sdk=sdk,
        protocol=protocol,
        epsilon=float(oracle.epsilon),
        realized_epsilon=float(oracle.realized_epsilon),
        draws=2 * n,
        lower_bound=bound,
        reachable=_reachable(hits[0][0], n, float(oracle.realized_epsilon), alpha / 4),
        alpha=alpha,
    )


def _hits(device: Device, published: Published, value: int, n: int) -> dict[int, int]:
    """Count the records that support one of the two answers and not the other."""
    try:
        import numpy as np

        from hushpoll_protocols.kernels import indicators
    except ImportError:
        raise MissingExtra("kernels", "auditing a device") from None
    oracle = published.blocks[0].oracle
    hits = dict.fromkeys(_ANSWERS, 0)
    for start in range(0, n, _ROWS):
        rows = min(_ROWS, n - start)
        data = device(published, value, rows)
        if len(data) != rows * oracle.record_size:
            raise InvalidParameter(
                f"the device returned {len(data)} bytes for {rows} records; it must return their "
                "records, one after the other",
                field="device",
            )
        supported = indicators(oracle, np.frombuffer(data, np.uint8).reshape(rows, -1))
        for v, w in permutations(_ANSWERS):
            hits[v] += int(((supported[:, v] == 1) & (supported[:, w] == 0)).sum())
    return hits


def _lower_bound(hits_v: int, hits_w: int, n: int, level: float) -> float:
    """Bound ln(P/Q) from below, from hits in n draws under each, failing 2 `level` of the time."""
    try:
        from scipy.stats import beta
    except ImportError:
        raise MissingExtra("train", "the bounds of an audit") from None
    low = float(beta.ppf(level, hits_v, n - hits_v + 1)) if hits_v else 0.0
    high = float(beta.ppf(1 - level, hits_w + 1, n - hits_w)) if hits_w < n else 1.0
    return math.log(low / high) if low else -math.inf


def _reachable(hits: int, n: int, realized: float, level: float) -> float:
    """Return the bound that exactly `realized` would give at the rate of hits that was seen."""
    rare = round(hits / math.exp(realized))
    return _lower_bound(hits, rare, n, level)
