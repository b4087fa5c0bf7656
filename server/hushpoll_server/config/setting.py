"""One setting as its users see it: names, interval, default, and the words of its refusal."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from hushpoll_protocols.errors import InvalidParameter

MASK: Final = "***"


class Setting:
    """One field of `Settings` as users see it.

    Parameters
    ----------
    name : str
        Its name in a configuration file.
    field : FieldInfo
        As pydantic knows it.

    Attributes
    ----------
    key, variable, flag, alias
        Its names in a mapping, in the environment and on the command line.
    default : Any
        Value where nothing is given; None if it may be absent.
    description : str
        What it does, with its unit.
    interval : str
        What is allowed, in words.
    secret : bool
        Whether it is masked where it is shown, and can be read from a file of its own.
    bound : str or None
        The setting that is its upper bound.
    """

    def __init__(self, name: str, field: FieldInfo) -> None:
        extra: Any = field.json_schema_extra or {}
        self.name, self.key = name, name.upper()
        self.variable = f"HUSHPOLL_{self.key}"
        self.flag = "--" + name.replace("_", "-")
        self.alias: str | None = extra.get("alias")
        self.secret: bool = extra.get("secret", False)
        self.bound: str | None = extra.get("most")
        self.default: Any = field.default
        self.description = field.description or ""
        # Text on the command line is the value itself; of other types it is a JSON value.
        self._textual = False
        self._least: Any = None
        self._most: Any = self.bound
        shortest = 1
        for limit in field.metadata:
            self._least = getattr(limit, "ge", self._least)
            self._most = getattr(limit, "le", self._most)
            shortest = getattr(limit, "min_length", shortest)
        if field.annotation in (int, float):
            self._wanted = "a whole number" if field.annotation is int else "a number"
            self.interval = f"{self._wanted[2:]} in [{self._least}, {self._most}]"
        elif field.annotation is bool:
            self.interval = self._wanted = "true or false"
        else:
            self._textual = True
            self.interval = "text" if shortest == 1 else f"text of at least {shortest} characters"
            self._wanted = "text"
            if get_origin(field.annotation) is Literal:
                choices = get_args(field.annotation)
                self.interval, self._wanted = " or ".join(choices), f"one of {', '.join(choices)}"

    def parse(self, text: str) -> Any:
        """Return the value that a text of the environment or the command line stands for."""
        if not text and self.default is None:
            return None
        if self._textual:
            return text
        try:
            return json.loads(text if text.strip() == text else "")
        except ValueError:
            raise self.refused(text) from None

    def refused(self, value: Any, values: Mapping[str, Any] | None = None) -> InvalidParameter:
        """Return the refusal of a value; a secret one is not shown.

        Parameters
        ----------
        value : Any
            What was given.
        values : mapping or None
            All settings, one of which may be the upper bound; None for a text of another type.
        """
        shown = MASK if self.secret else repr(value)
        detail, remedy = f"which is not {self.interval}", f"give {self._wanted}"
        if self._least is not None and values is not None:
            most = self._most if self.bound is None else values[self.bound]
            detail, remedy = f"outside [{self._least}, {most}]", remedy + " inside it"
        return InvalidParameter(f"{self.key} is {shown}, {detail}; {remedy}", field=self.key)


FORMER_NAMES: Final = {
    "fold_at": "seal_at",
    "fold_idle_seconds": "seal_idle_seconds",
    "folding": "sealing",
}
"""Names of settings in earlier releases, and their names now."""


def unknown_key(key: str, known: Iterable[str], where: str = "") -> InvalidParameter:
    """Return the refusal of a key that is none, with the one that was probably meant.

    Parameters
    ----------
    key : str
        As it was given.
    known : iterable of str
        Keys in the same spelling.
    where : str
        Where it was given, such as ``" in hushpoll.toml"``.
    """
    names = list(known)
    former = key.lower().removeprefix("hushpoll_")
    if former == "jobs_url":  # no setting is like it, and one is spelt like it
        remedy = "workers look into the table of jobs, and no setting takes its place; "
    else:
        now = FORMER_NAMES.get(former)
        close = [name for name in names if now and name.lower().removeprefix("hushpoll_") == now]
        close = close or difflib.get_close_matches(key, names, n=1)
        remedy = f"did you mean {close[0]!r}? " if close else f"known keys are {', '.join(names)}; "
    return InvalidParameter(
        f"unknown configuration key {key!r}{where}; {remedy}correct or remove it", field=key
    )
