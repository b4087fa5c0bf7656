"""What a form says, and what of it a reader has read.

A reader takes what it knows from :class:`FormMembers`, and whatever it has not taken is reported by
its name: so nothing of a form is left out in silence, also what no reader has ever heard of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hushpoll_shared.spelling.json_values import JsonObject, JsonValue
from hushpoll_shared.spelling.text import show


class FormMembers:
    """A row or an object of a form, which remembers what of it was read.

    `called` has what the file calls a name, where it calls it otherwise.
    """

    def __init__(self, members: JsonObject, called: Mapping[str, str] | None = None) -> None:
        self._members = members
        self._called = called or {}
        self._read: set[str] = set()

    def get(self, name: str) -> JsonValue:
        """Return what stands under a name, None where nothing does; it is read from now on."""
        self._read.add(name)
        return self._members.get(name)

    def text(self, name: str) -> str:
        """Return the text under a name; an empty one where there is none."""
        value = self.get(name)
        return value if isinstance(value, str) else ""

    def objects(self, name: str) -> list[FormMembers]:
        """Return the objects of a list; none of what is no list of objects."""
        value = self.get(name)
        listed = value if isinstance(value, list) else ()
        return [FormMembers(one) for one in listed if isinstance(one, dict)]

    def members(self) -> JsonObject:
        """Return all members, for an object that has them and others."""
        return self._members

    def pass_over(self, names: Iterable[str]) -> None:
        """Take names as read of which something is said elsewhere."""
        self._read.update(names)

    def unread(self) -> tuple[str, ...]:
        """Return what the file calls those names that say something and were not read."""
        return tuple(
            self._called.get(name, str(name))
            for name, value in self._members.items()
            if name not in self._read and value not in (None, "", [], {})
        )


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, each once, in the order of letters."""
    return ", ".join(map(show, sorted(set(names))))


class Looks:
    """How questions look in the form, which a survey here does not take over: told in one line."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, names: Iterable[str]) -> None:
        """Note each name once more."""
        self._counts.update(names)

    def sentences(self) -> list[str]:
        """Return the sentence that names them all, with how often each stands."""
        if not self._counts:
            return []
        shown = ", ".join(f"{show(name)} ({count})" for name, count in sorted(self._counts.items()))
        return [f"How the form looks is left out: {shown}."]
