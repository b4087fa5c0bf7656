"""Which groups are compared: a manifest's two, all people, each category, or intersections.

The groups of several attributes are all combinations of a group of each. Their categories are
combinations of categories, whose code counts the last attribute's categories fastest: two
attributes of 2 and 3 categories have the codes 3 a + b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final, TypeAlias

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.parameters import Choice, Names, Parameter, Value, split_names

Groups: TypeAlias = tuple[tuple[int, ...], ...]
"""Codes of each group; a category may be in none of them."""

KINDS: Final = ("declared", "everybody", "categories")
MOST_GROUPS: Final = 32
"""Each two groups are compared, so there may not be many."""
PARAMETERS: Final[dict[str, Parameter]] = {
    "groups": Choice(KINDS, "declared"),
    "further_groups": Names(),
}
"""What learners that mitigate take of these, by name."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which groups a mitigation compares.

    Attributes
    ----------
    kind : {"declared", "everybody", "categories"}
        ``declared``: the two groups of the manifest. People of neither are left as they are.
        ``everybody``: these and, as a third group, all others, such as people who gave no answer.
        ``categories``: each category of the protected attribute, its missing one among them.
    further : tuple of str
        Attributes whose categories are crossed with these groups. A missing answer is one of them,
        but with ``declared``, where people who gave none are left as they are.

    Raises
    ------
    InvalidParameter
        For another kind, or a name twice.
    """

    kind: str = "declared"
    further: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        PARAMETERS["groups"].check("groups", self.kind, "mitigation")
        PARAMETERS["further_groups"].check("further_groups", ", ".join(self.further), "mitigation")

    @classmethod
    def of(cls, parameters: Mapping[str, Value]) -> Grouping:
        """Return what the parameters of a learner say."""
        return cls(str(parameters["groups"]), split_names(str(parameters["further_groups"])))

    def of_protected(self, declared: Groups, k: int) -> Groups:
        """Return the groups of the protected attribute, from those that are declared."""
        if self.kind == "categories":
            return tuple((code,) for code in range(k))
        rest = tuple(code for code in range(k) if not any(code in codes for codes in declared))
        return (*declared, rest) if self.kind == "everybody" and rest else declared

    def of_further(self, k: int, *, unanswered: int) -> Groups:
        """Return the groups of a further attribute.

        So many of its categories, the last, stand for no answer: skipped, or not asked.
        """
        left_out = unanswered if self.kind == "declared" else 0
        return tuple((code,) for code in range(k - left_out))


DECLARED: Final = Grouping()


def crossed(groups: Sequence[Groups], sizes: Sequence[int]) -> Groups:
    """Return the groups of several attributes together: each combination, the last fastest.

    Refuses more than `MOST_GROUPS`; `sizes` are the numbers of categories.
    """
    count = prod(map(len, groups))
    if count > MOST_GROUPS:
        raise InvalidParameter(
            f"there are {count} groups, and there may be {MOST_GROUPS}, since each two are "
            "compared; name fewer attributes, or ones of fewer categories",
            field="groups" if len(groups) == 1 else "further_groups",
        )
    found = []
    for parts in product(*groups):
        codes = []
        for combination in product(*parts):
            code = 0
            for own, size in zip(combination, sizes, strict=True):
                code = code * size + own
            codes.append(code)
        found.append(tuple(codes))
    return tuple(found)


def split_code(code: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the category of each attribute, from the code of their combination."""
    parts = []
    for size in reversed(sizes):
        code, own = divmod(code, size)
        parts.append(own)
    return tuple(reversed(parts))
