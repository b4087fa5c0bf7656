"""How one epsilon is divided among the blocks of a survey; a perturbed attribute alone is a block.

Splits of Arcolezi, Makhlouf and Palamidessi (DBSec 2023, section 3.2): uniform and k-based; and
explicit weights. A draft may also ask for `optimal`, which is published as the weights that result
(:mod:`hushpoll_shared.survey.randomization.optimal`). Parts are exact rationals rounded down to 12
places, so that they can never sum to more than the total (sequential composition).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from hushpoll_protocols import EPSILON_MAX, EPSILON_MIN, InvalidParameter, format_epsilon
from hushpoll_protocols.errors import refusal_of
from hushpoll_protocols.thresholds import EXACT
from hushpoll_shared.spelling.decimals import PLACES, check_canonical, parse_weight
from hushpoll_shared.spelling.text import show

NAMED_SPLITS: Final = ("uniform", "k-based")
OPTIMAL: Final = "optimal"
DRAFT_SPLITS: Final = (*NAMED_SPLITS, OPTIMAL)
"""Rules that a draft may name; `optimal` is published as weights."""


@dataclass(frozen=True)
class Split:
    """A rule that gives each perturbed attribute its share."""

    kind: str
    """``"uniform"``, ``"k-based"`` or ``"weights"``; in a draft also ``"optimal"``."""
    weights: tuple[tuple[str, Decimal], ...] = ()
    """For ``"weights"`` only: each perturbed attribute with its weight, in (0, 1000000]."""

    @classmethod
    def parse(cls, value: object, *, canonical: bool = False) -> Split:
        """Read ``"uniform"``, ``"k-based"``, ``"optimal"`` or ``{"weights": {attribute: number}}``.

        Of a `canonical`, published one each weight is a decimal string in its one spelling, and
        `optimal` has become weights.
        """
        if isinstance(value, Split):
            return value
        names = NAMED_SPLITS if canonical else DRAFT_SPLITS
        if isinstance(value, str) and value in names:
            return cls(value)
        weights = value.get("weights") if isinstance(value, Mapping) and len(value) == 1 else None
        if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
            raise refusal_of("split")(
                f"is {show(value)}; it must be {', '.join(names)}, or a mapping {{weights: "
                "{attribute: number}}"
            )
        pairs = []
        for name, weight in weights.items():
            path = f"split.weights[{name[:80]}]"
            if canonical:
                check_canonical(weight, field=path)
            pairs.append((name, parse_weight(weight, field=path)))
        return cls("weights", tuple(sorted(pairs)))

    def to_json(self) -> str | dict[str, dict[str, str]]:
        """Return the split as it stands in a published manifest."""
        if self.kind != "weights":
            return self.kind
        return {"weights": {name: format_epsilon(weight) for name, weight in self.weights}}

    def shares(self, sizes: Mapping[str, int]) -> dict[str, Fraction]:
        """Return each attribute's share of the total, exactly, by its domain size; they sum to 1.

        Refuses weights that do not name exactly these attributes, and `optimal`, which needs to
        know their protocols.
        """
        if self.kind == OPTIMAL:
            raise InvalidParameter(
                "the optimal split depends on the protocols, not only on the domains' sizes; "
                "resolve the manifest, which finds its weights",
                field="split",
            )
        if self.kind == "weights":
            weights = dict(self.weights)
            for name in weights.keys() - sizes.keys():
                raise InvalidParameter(
                    f"split.weights names {show(name)}, which is not a perturbed attribute; "
                    f"the perturbed attributes are {', '.join(sizes)}: remove it",
                    field=f"split.weights[{name[:80]}]",
                )
            for name in sizes:
                if name not in weights:
                    raise InvalidParameter(
                        f"split.weights gives {name} no weight; "
                        "every perturbed attribute needs one: add it",
                        field=f"split.weights[{name}]",
                    )
            parts = {name: Fraction(weights[name]) for name in sizes}
        elif self.kind == "k-based":
            parts = {name: Fraction(k) for name, k in sizes.items()}
        else:
            parts = dict.fromkeys(sizes, Fraction(1))
        total = sum(parts.values(), Fraction(0))
        return {name: part / total for name, part in parts.items()}


UNIFORM: Final = Split("uniform")


def split_budget(
    epsilon: Decimal,
    sizes: Mapping[str, int],
    split: Split | str,
    *,
    several: Collection[str] = (),
    apart: Mapping[str, Sequence[str]] | None = None,
    draws: Collection[str] = (),
) -> dict[str, Decimal]:
    """Divide `epsilon`, in [1e-6, 64], among the blocks by their domain sizes.

    The parts are in [1e-6, 64], rounded down to 12 places, and sum to at most `epsilon`. Entries of
    `apart` are several blocks with an even part of it each; `several` and `draws` name the blocks
    of several questions and the draws, whose fields refusals name.
    """
    if not sizes:
        raise InvalidParameter(
            "no attribute is perturbed, so epsilon would protect nothing; "
            "make at least one attribute sensitive",
            field="attributes",
        )
    rule = Split.parse(split)
    members = apart or {}
    owners = {name: unit for unit, names in members.items() for name in names}
    shares = rule.shares({owners.get(name, name): k for name, k in sizes.items()})
    parts: dict[str, Decimal] = {}
    for name in sizes:
        unit = owners.get(name, name)
        part = part_of(epsilon, shares[unit] / len(members.get(unit, (name,))))
        if not EPSILON_MIN <= part <= EPSILON_MAX:
            raise InvalidParameter(
                f"the {rule.kind} split of epsilon {format_epsilon(epsilon)} leaves {name} with "
                f"{format_epsilon(part)}, outside [1e-6, {EPSILON_MAX}]; raise epsilon, or choose "
                f"a split that gives {name} more",
                field=f"{_list_of(name, several, draws)}[{name}].epsilon",
            )
        parts[name] = part
    return parts


def part_of(epsilon: Decimal | Fraction, share: Fraction) -> Decimal:
    """Return a share of an epsilon, rounded down to 12 places."""
    units = Fraction(epsilon) * share * 10**PLACES // 1
    return Decimal(format_epsilon(Decimal(f"{units}e-{PLACES}")))


def _list_of(name: str, several: Collection[str], draws: Collection[str]) -> str:
    """Return the field of the manifest that lists what has this name."""
    return "together" if name in several else "draws" if name in draws else "attributes"


def total_epsilon(epsilons: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of epsilons, whatever decimal context the host app has set."""
    total = Decimal(0)
    for epsilon in epsilons:
        total = EXACT.add(total, epsilon)
    return total
