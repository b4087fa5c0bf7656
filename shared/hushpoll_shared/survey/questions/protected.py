"""The two groups of respondents that a fairness report compares, as a survey declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute


@dataclass(frozen=True)
class Protected:
    """The attribute whose groups a fairness report compares."""

    attribute: str
    """A declared attribute other than the target."""
    privileged: tuple[str, ...]
    """Categories of one group, at least one."""
    unprivileged: tuple[str, ...]
    """Categories of the other, at least one and none of the first."""

    def to_dict(self) -> JsonMembers:
        """Return the groups as JSON."""
        return members_of(self, "attribute", *_GROUPS)

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Refuse groups that do not fit the survey's attributes."""
        named = {declared.name: declared for declared in attributes}
        attribute = named.get(self.attribute)
        if attribute is None:
            raise refusal_of("protected.attribute")(
                f"is {show(self.attribute)}, which is not declared; the attributes are "
                f"{', '.join(named)}: name one of them"
            )
        if attribute.role == "target":
            raise refusal_of("protected.attribute")(
                f"is {attribute.name}, the target; groups are compared on another attribute: name "
                "that one"
            )
        if attribute.number is not None:
            raise refusal_of("protected.attribute")(
                f"is {attribute.name}, which is answered by a number; groups are categories: ask "
                "for categories, such as ranges of it"
            )
        for group, categories in (
            ("privileged", self.privileged),
            ("unprivileged", self.unprivileged),
        ):
            path = f"protected.{group}"
            if not categories or len(set(categories)) != len(categories):
                raise refusal_of(path)(
                    f"is {show(list(categories))}; it lists one or more different categories of "
                    f"{attribute.name}"
                )
            for category in categories:
                if category not in attribute.domain:
                    raise refusal_of(path)(
                        f"has {show(category)}, which is no category of {attribute.name}; name its "
                        "categories as they are declared"
                    )
        both = set(self.privileged) & set(self.unprivileged)
        if both:
            raise InvalidParameter(
                f"protected has {show(min(both))} in both groups; "
                "the groups are disjoint: remove it from one",
                field="protected.unprivileged",
            )


def read_protected(value: object, *, canonical: bool = False) -> Protected | None:
    """Read the protected groups; unless `canonical`, one category may stand for a list of it."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _refused(value, "protected")
    for key in value:
        if key not in _KEYS:
            raise _refused(value, f"protected.{key}"[:200])
    groups: dict[str, tuple[str, ...]] = {}
    for key in _GROUPS:
        group = value.get(key)
        if isinstance(group, str) and not canonical:
            group = [group]
        if not isinstance(group, list | tuple):
            raise _refused(value, "protected")
        groups[key] = tuple(group)
    if not isinstance(value.get("attribute"), str):
        raise _refused(value, "protected.attribute")
    for key, group in groups.items():
        if not all(isinstance(item, str) for item in group):
            raise _refused(value, f"protected.{key}")
    return Protected(value["attribute"], **groups)


_GROUPS: Final = ("privileged", "unprivileged")
_KEYS: Final = frozenset({"attribute", *_GROUPS})


def _refused(value: object, field: str) -> InvalidParameter:
    return InvalidParameter(
        f"protected is {show(value)}; it has exactly the keys attribute (a name), privileged and "
        "unprivileged (lists of categories): correct it",
        field=field,
    )
