"""One setting as its users see it: its names, what it allows, and the words of a refusal."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from hushpoll_protocols.errors import InvalidParameter

MASK: Final = "***"
# Names of settings in earlier releases, and their names now.
REMOVED: Final = {
    "JOBS_URL": "workers look into the table of jobs, and no setting takes its place",
}
FORMER_NAMES: Final = {
    "FOLD_AT": "SEAL_AT",
    "FOLD_IDLE_SECONDS": "SEAL_IDLE_SECONDS",
    "FOLDING": "SEALING",
    **dict.fromkeys(("JOB_MAX_TREES", "JOB_MAX_LEAVES", "JOB_MAX_BINS"), "JOB_PARAMETER_LIMITS"),
}


class Setting:
    """One field of `Settings`: its names in each place, its default, and what it allows.

    ``interval`` says in words what is allowed. A ``secret`` value is masked where it is shown, and
    can be read from a file of its own. ``bound`` is the setting that is its upper bound, or None.
    """

    def __init__(self, name: str, field: FieldInfo) -> None:
        extra: Any = field.json_schema_extra or {}
        self.name, self.key, self.flag = name, name.upper(), "--" + name.replace("_", "-")
        self.variable = f"HUSHPOLL_{self.key}"
        self.alias: str | None = extra.get("alias")
        self.secret: bool = extra.get("secret", False)
        self.bound: str | None = extra.get("most")
        self.default: Any = field.default
        self.description = field.description or ""
        limits = {
            key: getattr(limit, key)
            for limit in field.metadata
            for key in ("ge", "le", "min_length")
            if hasattr(limit, key)
        }
        self._least, self._most = limits.get("ge"), limits.get("le")
        self._textual = field.annotation not in (int, float, bool)
        choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
        self.interval = self._wanted = "true or false"
        if self._least is not None:
            whole = field.annotation in (int, int | None)
            self._wanted = "a whole number" if whole else "a number"
            self.interval = f"{self._wanted[2:]} in [{self._least}, {self.bound or self._most}]"
        elif choices:
            self.interval, self._wanted = " or ".join(choices), f"one of {', '.join(choices)}"
        elif self._textual:
            shortest = limits.get("min_length", 1)
            self.interval = "text" if shortest == 1 else f"text of at least {shortest} characters"
            if "form" in extra:
                self.interval = f"text of the form {extra['form']}"
            self._wanted = self.interval

    def parse(self, text: str) -> Any:
        """Return the value that a text of the environment or the command line stands for."""
        if self._textual:
            return None if not text and self.default is None else text
        try:  # another type is written as in JSON, without a space around it
            return json.loads(text if text.strip() == text else "")
        except (ValueError, RecursionError):
            raise self.refused(text) from None

    def refused(self, value: Any, *, most: Any = None, outside: bool = False) -> InvalidParameter:
        """Return the refusal of a value: outside its interval up to `most`, or of a wrong type."""
        interval = f"[{self._least}, {self._most if most is None else most}]"
        text = "a text and " if isinstance(value, str) and not self._textual else ""
        detail, remedy = f"which is {text}not {self._wanted}", f"give {self._wanted}"
        if outside:
            detail, remedy = f"outside {interval}", f"{remedy} inside it"
        elif self._least is not None:
            remedy += f" in {interval}"
        shown = MASK if self.secret else repr(value)
        return InvalidParameter(f"{self.key} is {shown}, {detail}; {remedy}", field=self.key)


def unknown_key(key: str, keys: Iterable[str], where: str = "") -> InvalidParameter:
    """Return the refusal of an unknown key, with the most similar of the known keys."""
    names = {name.upper().removeprefix("HUSHPOLL_"): name for name in keys}
    plain = key.upper().removeprefix("HUSHPOLL_")
    if plain in REMOVED:
        return InvalidParameter(
            f"unknown configuration key {key!r}{where}; {REMOVED[plain]}; remove it", field=key
        )
    close = difflib.get_close_matches(FORMER_NAMES.get(plain, plain), names, n=1)
    remedy = f"known keys are {', '.join(names.values())}; "
    if close:
        remedy = f"did you mean {names[close[0]]!r}? "
    return InvalidParameter(
        f"unknown configuration key {key!r}{where}; {remedy}correct or remove it", field=key
    )
