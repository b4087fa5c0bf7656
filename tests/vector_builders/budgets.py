"""How a total is divided."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from hushpoll_protocols import InvalidParameter, format_epsilon
from hushpoll_shared.survey.randomization.budget import Split, split_budget
from vector_builders.document import Group, write

ADULT = {"gender": 2, "race": 5, "native-country": 41, "age": 74}
ACS = {"dis": 2, "agep": 50, "sex": 2, "schl": 24}
THREE = {"a": 2, "b": 2, "c": 2}
LARGE = {"small": 2, "large": 65536}
EPSILONS = ("0.000001", "0.000003", "0.25", "0.5", "1", "2", "4", "8", "10", "20", "50", "64")
WEIGHTS = (
    {"a": "2", "b": "1", "c": "1"},
    {"a": "0.1", "b": "0.2", "c": "0.7"},
    {"a": "1000000", "b": "0.000000000001", "c": "1"},
)


def build(folder: Path) -> None:
    """Write budgets.json."""
    group = Group(
        "budgets",
        "Parts are floor(total * share * 10^12) / 10^12.",
        {
            "epsilon": "the total, decimal string",
            "split": "uniform, k-based or weights, as published",
            "sizes": "pairs of attribute and domain size, in record order",
            "parts": "epsilon of each, in the same order; left out where the split is refused",
            "field": "path of the field at fault, where the split is refused",
        },
    )
    splits: list[tuple[object, dict[str, int]]] = [
        (kind, sizes) for sizes in (ADULT, ACS, THREE, LARGE) for kind in ("uniform", "k-based")
    ]
    splits += [({"weights": weights}, THREE) for weights in WEIGHTS]
    for split, sizes in splits:
        for epsilon in EPSILONS:
            head = {"epsilon": epsilon, "split": split, "sizes": list(sizes.items())}
            try:
                parts = split_budget(Decimal(epsilon), sizes, Split.parse(split))
            except InvalidParameter as error:
                group.add(**head, field=error.field)
            else:
                group.add(**head, parts=[format_epsilon(part) for part in parts.values()])
    write(folder / "budgets.json", "The three splits of a survey's epsilon.", [group])
