"""What one setting may be: its type, interval, default and description, said once.

`Settings` is a table of these. Checks, the configuration file, environment, flags, help texts and
the documented table are all read from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any, Final, Literal

from hushpoll_protocols.errors import InvalidParameter

METADATA: Final = "setting"
MASK: Final = "***"

Kind = Literal["whole", "number", "text", "choice", "switch", "texts"]
Bound = int | float | str | None

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_KINDS: Final[Mapping[str, str]] = {
    "whole": "a whole number",
    "number": "a number",
    "text": "text",
    "choice": "one of the choices",
    "switch": "true or false",
    "texts": "a list of texts",
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the table of settings.

    Parameters
    ----------
    name : str
        Its name in a configuration file; upper case in the mapping given to ``create_app``.
    kind : str
        ``whole``, ``number``, ``text``, ``choice``, ``switch`` or ``texts``.
    default : Any
        Value where nothing is given; None if it may be absent.
    description : str
        What it does, with its unit.
    least, most : int, float, str or None
        Closed interval of a number. A name stands for the value of that setting. Of a text,
        `least` is the fewest characters.
    choices : sequence of str
        What a ``choice`` may be.
    secret : bool
        Whether it is masked where it is shown, and can be read from a file of its own.
    alias : str or None
        Another name of its flag.
    """

    name: str = ""
    kind: Kind
    default: Any
    description: str
    least: Bound = None
    most: Bound = None
    choices: Sequence[str] = ()
    secret: bool = False
    alias: str | None = None

    @property
    def key(self) -> str:
        """The name in upper case."""
        return self.name.upper()

    @property
    def variable(self) -> str:
        """The environment variable, ``HUSHPOLL_<KEY>``."""
        return f"HUSHPOLL_{self.key}"

    @property
    def flag(self) -> str:
        """The command line's flag, ``--name-with-dashes``."""
        return "--" + self.name.replace("_", "-")

    @property
    def depends(self) -> bool:
        """Whether its interval follows from another setting."""
        return isinstance(self.least, str) or isinstance(self.most, str)

    @property
    def interval(self) -> str:
        """What is allowed, in words."""
        match self.kind:
            case "whole" | "number":
                kind = "whole number" if self.kind == "whole" else "number"
                return f"{kind} in [{self.least}, {self.most}]"
            case "choice":
                return " or ".join(self.choices)
            case "text" if self.least is not None:
                return f"text of at least {self.least} characters"
            case kind:
                return _KINDS[kind]

    def parse(self, text: str) -> Any:
        """Return the value that a text of the environment or the command line stands for.

        Raises
        ------
        InvalidParameter
            It is of another kind.
        """
        if not text and self.default is None:
            return None
        match self.kind:
            case "whole" if _WHOLE.fullmatch(text):
                return int(text)
            case "number" if _NUMBER.fullmatch(text):
                return float(text)
            case "switch" if text in ("true", "false"):
                return text == "true"
            case "texts":
                return tuple(part for part in (one.strip() for one in text.split(",")) if part)
            case "text" | "choice":
                return text
        raise self.refused(text)

    def checked(self, value: Any, values: Mapping[str, Any]) -> Any:
        """Return a value as it is kept, or refuse it.

        Parameters
        ----------
        value : Any
            As a configuration file or a program gives it.
        values : mapping
            The other settings' values, for bounds that name one.

        Raises
        ------
        InvalidParameter
            It is of another kind or outside its interval.
        """
        if value is None and self.default is None:
            return None
        match self.kind:
            case "whole" | "number":
                kinds = int if self.kind == "whole" else int | float
                least, most = self._bound(self.least, values), self._bound(self.most, values)
                if (
                    isinstance(value, bool)
                    or not isinstance(value, kinds)
                    or not least <= value <= most
                ):
                    raise self.refused(value, f"[{least}, {most}]")
            case "text":
                least = self._bound(self.least, values) or 1
                if not isinstance(value, str) or len(value) < least or "\0" in value:
                    raise self.refused(value)
            case "choice" if value not in self.choices:
                raise self.refused(value)
            case "switch" if not isinstance(value, bool):
                raise self.refused(value)
            case "texts":
                if not isinstance(value, list | tuple) or not all(
                    isinstance(one, str) and one for one in value
                ):
                    raise self.refused(value)
                return tuple(value)
        return value

    def refused(self, value: Any, interval: str | None = None) -> InvalidParameter:
        """Return the refusal of a value; a secret one is not shown."""
        shown = MASK if self.secret else repr(value)
        detail = f"outside {interval}" if interval else f"which is not {self.interval}"
        remedy = (
            f"give one of {', '.join(self.choices)}"
            if self.kind == "choice"
            else f"give {_KINDS[self.kind]}{' inside it' if interval else ''}"
        )
        return InvalidParameter(f"{self.key} is {shown}, {detail}; {remedy}", field=self.key)

    def _bound(self, bound: Bound, values: Mapping[str, Any]) -> Any:
        return values[bound] if isinstance(bound, str) else bound


def whole(default: int | None, least: Bound, most: Bound, description: str, **more: Any) -> Any:
    """Declare a whole number in the closed interval [`least`, `most`]."""
    return _declared("whole", default, description, least=least, most=most, **more)


def number(default: float | None, least: Bound, most: Bound, description: str, **more: Any) -> Any:
    """Declare a number in the closed interval [`least`, `most`]."""
    return _declared("number", default, description, least=least, most=most, **more)


def text(default: str | None, description: str, **more: Any) -> Any:
    """Declare a text; with None as its default it may be absent."""
    return _declared("text", default, description, **more)


def choice(default: str | None, choices: Sequence[str], description: str, **more: Any) -> Any:
    """Declare a text out of `choices`."""
    return _declared("choice", default, description, choices=tuple(choices), **more)


def switch(default: bool, description: str, **more: Any) -> Any:
    """Declare something that is on or off."""
    return _declared("switch", default, description, **more)


def texts(default: tuple[str, ...], description: str, **more: Any) -> Any:
    """Declare a list of texts: an array in a file, separated by commas elsewhere."""
    return _declared("texts", default, description, **more)


def table_of(settings: type[Any]) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name, in order."""
    return {
        one.name: replace(one.metadata[METADATA], name=one.name)
        for one in _fields(settings)
        if METADATA in one.metadata
    }


def _fields(settings: type[Any]) -> Sequence[Field[Any]]:
    return dataclass_fields(settings)


def _declared(kind: Kind, default: Any, description: str, **more: Any) -> Any:
    setting = Setting(kind=kind, default=default, description=description, **more)
    return field(default=default, metadata={METADATA: setting})
