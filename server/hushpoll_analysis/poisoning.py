"""How far fake reports can move an estimate: closed forms, proven against a brute-force attacker.

A respondent's device may send any well-formed record, and the estimate adds up what the records
count: D = (I - q)/(p - q) per category. A fake that supports a category therefore counts as
(1 - q)/(p - q) people who gave it, where an honest answer counts as one on average, and a fake that
does not counts as -q/(p - q) of them. The maximal gain attack of Cao, Jia and Gong (USENIX Security
2021) sends nothing else. The smaller epsilon, the more a fake weighs: privacy lets nobody tell it
from an honest report.

For a set of t categories together, what counts is how many of them one record can support:

    protocol                at most        at least
    in clear, GRR           1              0, or 1 if t = k
    SS                      min(omega, t)  max(0, omega - (k - t))
    OUE, RAPPOR, THE        t              0
    BLH, OLH                t              0        (a hash with a = 0 puts all in one bucket)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushpoll_analysis.channel import Channel
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter

QUOTED_SHARE = Fraction(1, 100)
"""Share of fake reports at which a shift is quoted with every estimate."""


@dataclass(frozen=True, slots=True)
class Influence:
    """What one report of a fake counts as, towards the people of a category or of several.

    Attributes
    ----------
    up : Fraction
        The most, at least 1: an honest answer counts as at most 1, on average over its noise.
    down : Fraction
        The least, at most 0 (or 1, if every category is meant and the protocol fixes the count).
    """

    up: Fraction
    down: Fraction

    def shift(
        self, *, fakes: int, genuine: int, frequency: float | Fraction
    ) -> tuple[Fraction, Fraction]:
        """Return by how much fakes can lower and raise an estimate.

        Parameters
        ----------
        fakes : int
            Reports of the attacker, at least 0.
        genuine : int
            Reports of everybody else, at least 1.
        frequency : float or Fraction
            What the genuine reports alone give, unbiased; may lie outside [0, 1].

        Returns
        -------
        (Fraction, Fraction)
            The largest fall, at most 0, and the largest rise, at least 0: exact, and reached.

        Raises
        ------
        InvalidParameter
            For a number out of bounds.
        """
        _check(fakes, genuine)
        share = Fraction(fakes, fakes + genuine)
        alone = Fraction(frequency)
        return (
            min(share * (self.down - alone), Fraction(0)),
            max(share * (self.up - alone), Fraction(0)),
        )

    def without(self, frequency: float, share: Fraction = QUOTED_SHARE) -> tuple[float, float]:
        """Return what the genuine reports alone may have given, if this share of all is fake.

        Parameters
        ----------
        frequency : float
            The estimate from all reports.
        share : Fraction
            Of the reports that are fake, in [0, 1).

        Returns
        -------
        (float, float)
            Smallest and largest. Every value between them is what some fakes would hide.

        Raises
        ------
        InvalidParameter
            If the share is outside [0, 1).
        """
        if not 0 <= share < 1:
            raise InvalidParameter(
                f"share is {share}; the share of fake reports lies in [0, 1)", field="share"
            )
        rest = float(1 - share)
        return (
            (frequency - float(share * self.up)) / rest,
            (frequency - float(share * self.down)) / rest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the influence as the API gives it, with the shift that 1 % fakes can cause."""
        return {
            "one_fake_adds": float(self.up),
            "one_fake_removes": float(-self.down),
            "fake_share": float(QUOTED_SHARE),
            # of a category that nobody, and that everybody gave
            "raised_by": float(QUOTED_SHARE * self.up),
            "lowered_by": float(QUOTED_SHARE * (1 - self.down)),
        }


def influence(
    oracle: FrequencyOracle | None, *, k: int | None = None, targets: int = 1
) -> Influence:
    """Return what one fake report can count as.

    Parameters
    ----------
    oracle : FrequencyOracle or None
        The protocol; None for an attribute in clear.
    k : int, optional
        Domain size of an attribute in clear; needed only for more than one target.
    targets : int
        Categories whose estimates are added up, in [1, k].

    Raises
    ------
    InvalidParameter
        If targets is outside its interval.
    """
    size = oracle.k if oracle is not None else k or 2
    if not 1 <= targets <= size:
        raise InvalidParameter(
            f"targets is {targets}; it must lie in [1, {size}], the categories", field="targets"
        )
    channel = Channel.of(oracle)
    most, least = _supported(oracle, size, targets)
    gap = channel.p - channel.q
    return Influence((most - targets * channel.q) / gap, (least - targets * channel.q) / gap)


def fakes_for_shift(
    oracle: FrequencyOracle | None, *, genuine: int, shift: float, frequency: float = 0.0
) -> int:
    """Return the fewest fake reports that can raise a category's estimate by `shift`.

    Parameters
    ----------
    oracle : FrequencyOracle or None
        The protocol; None for an attribute in clear.
    genuine : int
        Honest reports, at least 1.
    shift : float
        In (0, 1 - frequency).
    frequency : float
        What the genuine reports give, in [0, 1).

    Raises
    ------
    InvalidParameter
        For a number out of bounds.
    """
    _check(0, genuine)
    if not 0 <= frequency < 1 or not 0 < shift < 1 - frequency:
        raise InvalidParameter(
            f"shift is {shift} from {frequency}; the estimate must stay in (0, 1)", field="shift"
        )
    weight, by, alone = influence(oracle).up, Fraction(shift), Fraction(frequency)
    # m (weight - f) >= shift (n + m)
    return -(-by * genuine // (weight - alone - by))


def _supported(oracle: FrequencyOracle | None, k: int, targets: int) -> tuple[int, int]:
    """Return how many of some targets one well-formed record supports at most and at least."""
    if oracle is None or oracle.name == "GRR":
        return 1, int(targets == k)
    if oracle.name == "SS":
        omega = int(oracle.parameters["omega"])
        return min(omega, targets), max(0, omega - (k - targets))
    return targets, 0


def _check(fakes: int, genuine: int) -> None:
    if fakes < 0 or genuine < 1:
        raise InvalidParameter(
            f"there are {fakes} fake and {genuine} genuine reports; give at least 0 and at least 1",
            field="fakes" if fakes < 0 else "genuine",
        )
