"""Forms: what their fields have, a refused one shown again as it was sent, and jobs asked for.

A form is declared once, in its template, by the macros of ``fields.html``. Each asks here what its
field has, so a refused form comes back with what was sent in it: its page is made again.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from flask import Response, g, request
from flask_login import current_user
from markupsafe import Markup
from pydantic import ValidationError
from werkzeug.datastructures import MultiDict

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.dashboard.frame import (
    FORM_FIELD,
    View,
    dashboard,
    member,
    number_in,
    signed_in,
    words_of_refusal,
)
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import model_of
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.wording import words_of
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.jobs.learners import learners
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.querying.query import parameters_of
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.wire.problems import PROBLEMS

FAULT_ID: Final = "refused-fault"
_MARK: Final = Markup(' %s="%s"')
# Others are no matter of a field, such as that the user may not do this.
OF_VALUES: Final = 422
BUSY: Final = 503
# Fields of the API that have another name in a form.
_NAMES: Final = {
    "scopes": "scope",
    "attributes": "attribute",
    "cross": "rows",
    "manifest": "yaml",
}


@dataclass(frozen=True)
class Fault:
    """What was wrong with a form."""

    fields: tuple[str, ...]
    """Names by which the field may go in the form; none if it is no field's fault."""
    words: str
    """A sentence."""


@dataclass
class Refusal:
    """A form that was refused, and whether the page that is made again has it."""

    path: str
    sent: MultiDict[str, str]
    fault: Fault
    taken: bool = False


Options = Sequence[str | tuple[str, str]]
"""Values to choose from, each with its words where these are others."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a form that was declared elsewhere than in a template."""

    name: str
    label: str
    hint: str
    value: str
    """What it has, or the default."""
    options: Options | None = None
    """What is chosen from; None where it is typed."""
    lines: int = 0
    """Shown of a text of several; 0 for one of a single line."""
    type: str = "text"
    attributes: Mapping[str, object]
    """Others of the control."""


class Form:
    """What the fields of a form have: what was sent, or else their defaults.

    It is sent to `url`, or by GET to its own page. Passwords and files are never shown again, and a
    fault stands beside the first field of one of its names, or else at the form's beginning.
    """

    def __init__(
        self, url: str, sent: MultiDict[str, str] | None = None, fault: Fault | None = None
    ) -> None:
        self.url, self._sent, self._fault, self._told = url, sent, fault, False
        self._written: Counter[str] = Counter()

    @property
    def open(self) -> Markup:
        """The attribute of parts that would be folded up, while there is a fault."""
        return Markup("") if self._fault is None else Markup(" open")

    def token(self, given: str | None = None) -> Markup:
        """Return the hidden field by which the form is one of this session, or has the token."""
        value = given or (signed_in().form_token if current_user.is_authenticated else "")
        return Markup('<input type="hidden" name="{}" value="{}">').format(FORM_FIELD, value)

    def text(self, name: str, default: object = "") -> object:
        """Return the text of a field, or the value that a list has; several may have one name."""
        sent = [] if self._sent is None else self._sent.getlist(name)
        place = self._written[name]
        self._written[name] += 1
        return sent[place] if place < len(sent) else default

    def ticked(self, name: str, value: str, default: bool) -> bool:
        """Return whether a box, or an option of a list that takes several, is chosen."""
        return default if self._sent is None else value in self._sent.getlist(name)

    def marks(self, name: str, attributes: Mapping[str, object]) -> Markup:
        """Return a control's attributes: those given, and that it is at fault."""
        given = {key.replace("_", "-"): value for key, value in attributes.items()}
        if fault := self.fault_id(name):
            ids = filter(None, (given.get("aria-describedby"), fault))
            given |= {"aria-invalid": "true", "aria-describedby": " ".join(map(str, ids))}
            given |= self.of_faulty
        said = [(key, value) for key, value in given.items() if value or _is_zero(value)]
        flags = [Markup(" ") + key for key, value in said if value is True]
        texts = [part for pair in said if pair[1] is not True for part in pair]
        # A page has hundreds of controls: the texts of one are escaped at once.
        marks = _MARK * (len(texts) // 2) % tuple(texts) if texts else Markup("")
        return marks + Markup("").join(flags) if flags else marks

    of_faulty: Mapping[str, object] = {"autofocus": True}
    """Attributes that a control at fault has."""

    def fault_id(self, name: str) -> str:
        """Return the id of what is told after a field; empty if nothing is."""
        is_at_fault = self._fault is not None and not self._told and name in self._fault.fields
        return FAULT_ID if is_at_fault else ""

    def told(self, name: str) -> Markup:
        """Return the fault as it stands after a field; empty if it is another's."""
        return self._words() if self.fault_id(name) else Markup("")

    def untold(self) -> Markup:
        """Return the fault if no field has told it, once all of them are written."""
        return Markup("") if self._fault is None or self._told else self._words()

    def _words(self) -> Markup:
        self._told = True
        words = "" if self._fault is None else self._fault.words
        return Markup('<span class="fault" id="{}" role="alert"><bdi>{}</bdi></span>').format(
            FAULT_ID, words
        )


def _is_zero(value: object) -> bool:
    return value == 0 and value is not False


@dashboard.app_template_global()
def form_of(
    url: str = "", fault: Fault | None = None, fixed: Mapping[str, str] | None = None
) -> Form:
    """Return a form that a template declares.

    `fixed` has names and values that tell apart the forms that are sent to one address; `fault` is
    that of a form whose page was not made again for it.
    """
    refusal: Refusal | None = g.get("refusal")
    if refusal is None or not url or unquote(urlsplit(url).path) != refusal.path:
        return Form(url, None, fault)
    if any(refusal.sent.get(name, "") != value for name, value in (fixed or {}).items()):
        return Form(url)
    refusal.taken = True
    return Form(url, refusal.sent, refusal.fault)


def comes_back(shown: View) -> Callable[[View], View]:
    """Let a refused form be shown again on its page, filled in as it was sent.

    The page's view gets those arguments of the form's address that it takes, and shows the choices
    that stand in the form (:func:`hushpoll_server.dashboard.frame.choice`).
    """
    taken = inspect.signature(shown).parameters

    def decorated(view: View) -> View:
        @wraps(view)
        def sent(**arguments: Any) -> Any:
            try:
                return view(**arguments)
            except HushpollError as error:
                status = PROBLEMS[error.code].status if isinstance(error, Refused) else OF_VALUES
                if status not in (OF_VALUES, BUSY):
                    raise
                wanted = {name: value for name, value in arguments.items() if name in taken}
                answer = _again(shown, wanted, error)
                if answer is None:
                    raise
                answer.status_code = status
                if isinstance(error, Refused) and error.retry_after is not None:
                    answer.headers["Retry-After"] = str(error.retry_after)
                return answer

        return sent

    return decorated


def _again(shown: View, arguments: dict[str, object], error: HushpollError) -> Response | None:
    """Return the page with the form; None where the form is not on it."""
    field = getattr(error, "field", None) or ""
    last = field.rpartition(".")[2]
    fields = (field, last, f"parameter-{last}", _NAMES.get(last, last)) if field else ()
    path = request.script_root + request.path
    g.refusal = Refusal(path, request.form, Fault(fields, words_of_refusal(error)))
    try:
        answer: Response = shown(**arguments)
        return answer if g.refusal.taken else None
    except HushpollError:
        # A choice by which the page is made is the fault itself.
        return None
    finally:
        del g.refusal


def given_file(field: str, missing: str, most: int = -1) -> bytes:
    """Return the content of a file of the form, up to a byte over `most`.

    A form without one is refused by the words `missing`.
    """
    file = request.files.get(field)
    if file is None or not file.filename:
        raise Refused("invalid-request", missing, field=field)
    # A large one is a temporary file without a name, which is gone once it is closed.
    with file.stream as stream:
        return stream.read(most + 1 if most >= 0 else -1)


def ask_for(row: VersionRow, kind_name: str, values: JsonObject) -> JobRow:
    """Ask for a job in the name of the user; refuses what its kind does, naming the field."""
    kind = KINDS[kind_name]
    try:
        given = model_of(kind.declared).model_validate(values).as_json()
    except ValidationError as error:
        field, words = words_of(error)
        raise Refused("invalid-request", words, field=field) from None
    return kind.ask(services(), row, given, by=member().id, actor=member().actor)


_PARSED: Final = {int: int, float: float, str: str}


def given_in_form(kind_name: str) -> JsonMembers:
    """Return what a form says of a job's parameters, read as the kind declares them.

    Lists and mappings are left to the view, and what is empty is left out.
    """
    given: JsonMembers = {}
    for one in parameters_of(KINDS[kind_name].declared):
        text = request.form.get(one.name, "")
        if not text.strip():
            continue
        if one.kind is bool:
            given[one.name] = True
        elif one.kind in _PARSED:
            parse = _PARSED[one.kind]
            given[one.name] = text if parse is str else number_in(one.name, text.strip(), parse)
    return given


@dashboard.app_template_global()
def declared(kind_name: str, name: str) -> Declared:
    """Return what a label says of a job's parameter."""
    (said,) = (one for one in parameters_of(KINDS[kind_name].declared) if one.name == name)
    return Declared(said.default, f"[{said.least:,}, {said.most:,}]")


class Declared(NamedTuple):
    """The default of a number, and the interval that it lies in."""

    default: Any
    interval: str


def learners_in_form(row: VersionRow) -> dict[str, Any]:
    """Return what a form has in which a learner is chosen; None, and what the server lacks."""
    try:
        known = learners(services(), row)
    except Refused as refusal:
        if refusal.code != "missing-extra":
            raise
        return {"form": None, "missing": refusal.detail}
    pairs = [(one["name"], f"{one['name']}: {one['description']}") for one in known["encodings"]]
    return {"form": {**known, "encodings": pairs}}
