"""A refused form as HTML: filled in as it was sent, with the fault beside its field.

A form is written once, in its template, with its defaults. This writes into its HTML what the user
has sent, so that no template has to repeat every field for the case that it comes back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import unquote, urlsplit

from markupsafe import escape
from werkzeug.datastructures import MultiDict

FAULT_ID: Final = "refused-fault"
# Every `<` of a text is escaped, and no form is inside another.
_FORM: Final = re.compile(r"<form\b[^>]*>.*?</form>", re.DOTALL)
_KEPT_AS_THEY_ARE: Final = ("hidden", "password", "file", "submit")
_CHOICES: Final = ("checkbox", "radio")

Attributes = Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Fault:
    """What was wrong with a form.

    Attributes
    ----------
    fields : tuple of str
        Names by which the field may go in the form; none if it is no field's fault.
    words : str
        A sentence.
    """

    fields: tuple[str, ...]
    words: str


def filled_again(
    page: str, path: str, sent: MultiDict[str, str] | None, fault: Fault
) -> str | None:
    """Return a page on which a form has the values that were sent, and the fault.

    Parameters
    ----------
    page : str
        HTML of this server's templates.
    path : str
        To which the form was sent. Of several forms, it is the one whose hidden fields and
        buttons have what was sent.
    sent : MultiDict or None
        The form's values. Passwords and files are not written back. None for the form that is sent
        by GET to the page on which it stands: it has what the address says already.
    fault : Fault
        It stands beside the first field of one of its names, or else at the form's beginning.

    Returns
    -------
    str or None
        None if no such form is on the page.
    """
    for found in _FORM.finditer(page):
        reader = _Reader(found[0])
        own = reader.method == "get" if sent is None else reader.action == path
        if own and (sent is None or reader.could_have_sent(sent)):
            named = next((name for name in fault.fields if name in reader.names), None)
            filler = _Filler(sent, named, fault.words)
            filler.feed(found[0])
            filler.close()
            before = _opened(page[: found.start()])
            return before + "".join(filler.written) + page[found.end() :]
    return None


def _opened(before: str) -> str:
    """Return what stands before a form, with the part open in which the form is."""
    start = before.rfind("<details>")
    if start <= before.rfind("</details>"):
        return before
    return f"{before[:start]}<details open>{before[start + len('<details>') :]}"


class _Reader(HTMLParser):
    """Finds out where a form is sent, and the names of its fields."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.action = ""
        self.method = "get"
        self.names: set[str] = set()
        self._fixed: dict[str, set[str]] = {}
        self.feed(form)

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        given = dict(attrs)
        name = given.get("name")
        if tag == "form":
            self.method = (given.get("method") or "get").lower()
            self.action = unquote(urlsplit(given.get("action") or "").path)
        elif tag == "button" and name:
            self._fixed.setdefault(name, set()).add(given.get("value") or "")
        elif name and tag in ("input", "select", "textarea") and given.get("type") != "hidden":
            self.names.add(name)

    def could_have_sent(self, sent: MultiDict[str, str]) -> bool:
        """Whether a button of the form gives what was sent under its name."""
        return all(sent.get(name) in values for name, values in self._fixed.items())


class _Filler(HTMLParser):
    """Writes a form again, with values and a fault."""

    def __init__(self, sent: MultiDict[str, str] | None, at_fault: str | None, words: str) -> None:
        super().__init__(convert_charrefs=False)
        self.written: list[str] = []
        self._sent, self._words = sent, words
        self._at_fault = at_fault
        self._told = False
        # The end tag after which the fault is written.
        self._told_after: str | None = None
        self._select: str | None = None
        self._option: tuple[Attributes, list[str]] | None = None
        self._in_textarea = False

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "option":
            self._option = (attrs, [])
            return
        if tag == "details" and self._sent is not None:
            given.setdefault("open", None)
        if tag == "input":
            self._fill(name, given)
        if tag in ("input", "select", "textarea") and name and name == self._at_fault:
            self._mark(tag, given)
        self._write(_start(tag, given))
        if tag == "form" and self._at_fault is None:
            self._tell()
        if tag == "input" and self._told_after == "input":
            self._tell()
        if tag == "select":
            self._select = name
        if tag == "textarea" and self._sent is not None and name in self._sent:
            self._write(f"\n{escape(self._sent[name])}")
            self._in_textarea = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "option" and self._option is not None:
            self._write_option()
        if tag == "select":
            self._select = None
        if tag == "textarea":
            self._in_textarea = False
        self._write(f"</{tag}>")
        if tag == self._told_after:
            self._tell()

    def handle_data(self, data: str) -> None:
        self._write(data)

    def handle_entityref(self, name: str) -> None:
        self._write(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._write(f"&#{name};")

    def _write(self, text: str) -> None:
        if self._option is not None:
            self._option[1].append(text)
        elif not self._in_textarea:
            self.written.append(text)

    def _fill(self, name: str, given: dict[str, str | None]) -> None:
        kind = given.get("type") or "text"
        if self._sent is None:
            return
        if kind in _CHOICES:
            given.pop("checked", None)
            if (given.get("value") or "on") in self._sent.getlist(name):
                given["checked"] = None
        elif name in self._sent and kind not in _KEPT_AS_THEY_ARE:
            given["value"] = self._sent[name]

    def _write_option(self) -> None:
        if self._option is None:
            return
        (attrs, texts), self._option = self._option, None
        given, text = dict(attrs), "".join(texts)
        if self._sent is not None and self._select in self._sent:
            given.pop("selected", None)
            value = given.get("value")
            if self._sent[self._select or ""] in (value, text if value is None else value):
                given["selected"] = None
        self._write(f"{_start('option', given)}{text}")

    def _mark(self, tag: str, given: dict[str, str | None]) -> None:
        """Mark the first field of the name, and say where its fault is told."""
        if self._told or self._told_after is not None:
            return
        ids = [*(given.get("aria-describedby") or "").split(), FAULT_ID]
        given |= {"aria-invalid": "true", "aria-describedby": " ".join(ids), "autofocus": None}
        # Beside a box stands its label.
        self._told_after = "label" if given.get("type") in _CHOICES else tag

    def _tell(self) -> None:
        if self._told:
            return
        self._told, self._told_after = True, None
        words = f'<span class="fault" id="{FAULT_ID}" role="alert"><bdi>{escape(self._words)}</bdi>'
        self.written.append(f"{words}</span>")


def _start(tag: str, given: dict[str, str | None]) -> str:
    words = [tag]
    for name, value in given.items():
        words.append(name if value is None else f'{name}="{escape(value)}"')
    return f"<{' '.join(words)}>"
