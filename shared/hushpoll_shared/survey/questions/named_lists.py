"""Lists of a manifest whose entries have a name and the names of what belongs to it.

`together`, `draws` and `selects` are read here; each says what it is a list of, and what to do
where it is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.canonical import check_keys
from hushpoll_shared.spelling.text import check_name, is_name, show


@dataclass(frozen=True)
class NamedList:
    """A field whose value is such a list."""

    field: str
    list_words: str
    """What the list is, as a refusal says it."""
    remedy: str
    """What to do where it is none."""
    entry_words: str
    """What an entry is."""
    member: str
    """The entry's field that names what belongs to it."""
    member_words: str
    """What these names are."""

    def entries(
        self,
        value: object,
        *,
        known: Sequence[str],
        needed: Sequence[str],
        filled: bool,
    ) -> Iterator[tuple[str, Mapping[str, Any], tuple[str, ...]]]:
        """Yield the path of each entry, the entry, and what belongs to it; None is an empty list.

        Refuses an entry with other fields than `known` or without one that is `needed`, and if
        `filled` a list without entries.
        """
        if value is None:
            return
        if not isinstance(value, list | tuple) or (filled and not value):
            raise refusal_of(self.field)(
                f"is {show(value)}; it is {self.list_words}: {self.remedy}"
            )
        for place, entry in enumerate(value):
            where = f"{self.field}[{place}]"
            if not isinstance(entry, Mapping):
                raise refusal_of(where)(f"is {show(entry)}; it is {self.entry_words}")
            if is_name(entry.get("name")):
                where = f"{self.field}[{entry['name']}]"
            check_keys(entry, frozenset(known), tuple(needed), where=where)
            check_name(entry["name"], field=f"{where}.name")
            yield where, entry, self.members(entry[self.member], f"{where}.{self.member}")

    def members(self, value: object, path: str) -> tuple[str, ...]:
        """Return a list of names of what belongs to an entry."""
        if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
            raise refusal_of(path)(f"is {show(value)}; it is a list of {self.member_words}")
        return tuple(value)
