"""A query: what is asked of the records of a survey version, declared once as a frozen dataclass.

Each field is a parameter with a type, a default, bounds and one sentence. The route and its OpenAPI
entry, the client's call, the options of both commands and the action log read them. A job's
parameters (:mod:`hushpoll_shared.jobs`) are declared in the same way: both are a `Request`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlencode

from hushpoll_protocols.errors import InvalidParameter, refusal_of
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.qualifying.domains import FORM, Where, read_where, spelled_where
from hushpoll_shared.querying.documents import alternatives, words_of
from hushpoll_shared.querying.result import Result
from hushpoll_shared.reading.decimal_texts import read_bounded
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import show

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a value that is no word, number or switch is written."""

    read: Callable[[str, str], Any]
    """From the text of an address and the parameter's name; raises `InvalidParameter`."""
    write: Callable[[Any], str]
    metavar: str
    """In the help of a command."""
    longest: int = 2000
    """Characters of the text in an address."""
    joiner: str | None = None
    """Between the texts of an option, or argument, that is repeated; None where it is not."""
    pairs: tuple[str, ...] = ()
    """Of an option that is repeated, each time as CATEGORY=LABEL of a mapping: the parameters of
    which the first that is given names the attribute with these categories."""
    earlier: bool = False
    """Whether that is an attribute of the version to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One field of a query, as routes, commands and forms need it."""

    name: str = ""
    kind: type = str
    """Text, number, switch; of what has choices or a spelling, text."""
    choices: tuple[str, ...] = ()
    default: Any
    """MISSING where it must be given; None where it depends on the others, or need not be."""
    means: str
    """What it is, in a sentence; another parameter is named in backticks."""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    strict: bool = False
    """Whether JSON has it as a number or a switch, and never as a text."""
    empty: Callable[[], Any] | None = None
    """Makes a default that documents do not show: an empty list or object."""
    spelling: Spelling | None = None
    """Of lists and mappings."""
    positional: bool = False
    """Whether it is an argument of a command, without a name."""
    flag: str = ""
    """The option of a command; by default the field's name."""
    common: bool = False
    """Whether queries share it: then it stands before a query's own in the API's document."""
    elsewhere: bool = False
    """Whether it names other records on a server; on a file a second file is named instead."""
    attribute: bool = False
    """Whether it is the name of an attribute: a form offers those of the survey."""
    category_of: str = ""
    """The parameter with the attribute of which it is a category."""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    def write(self, value: Any) -> str:
        """Return a value as an address has it."""
        if self.spelling is not None:
            return self.spelling.write(value)
        if self.kind is float:
            return repr(float(value))
        return str(value).lower() if isinstance(value, bool) else str(value)

    def read(self, text: Any) -> Any:
        """Return the value of a text, as an address has it; another value is what it is."""
        if not isinstance(text, str):
            return text
        if self.spelling is not None:
            if len(text) > self.spelling.longest:
                raise self._refused(text, f"give at most {self.spelling.longest} characters")
            return self.spelling.read(text, self.name)
        switches = {"true": True, "false": False} if self.kind is bool else {}
        choices: Mapping[str, object] = switches or {one: one for one in self.choices}
        if choices:
            if text not in choices:
                raise self._refused(text, f"give {' or '.join(choices)}")
            return choices[text]
        if self.kind is str:
            return text
        bounds = {"least": self.least, "most": self.most, "above": self.above}
        return read_bounded(text, self.name, whole=self.kind is int, **bounds)

    def _refused(self, text: str, remedy: str) -> InvalidParameter:
        return refusal_of(self.name)(f"is {show(text)}; {remedy}")


def parameter(
    means: str,
    default: Any = MISSING,
    *,
    empty: Callable[[], Any] | None = None,
    **facts: Any,
) -> Any:
    """Return a field of a request; its facts, from `least` on, are those of `Parameter`."""
    if empty is None:
        said = Parameter(means=means, default=default, **facts)
        return field(default=default, metadata={"parameter": said})
    said = Parameter(means=means, default=empty(), empty=empty, **facts)
    return field(default_factory=empty, metadata={"parameter": said})


def confidence() -> Any:
    """Return the field that says how sure the intervals are."""
    (least, most), means = CONFIDENCES, "Confidence of the intervals, in [0.01, 0.999999]."
    return parameter(means, 0.95, least=least, most=most, common=True)


def simultaneous(what: str = "intervals", detail: str = " with this confidence") -> Any:
    """Return the field that says whether all intervals, or differences, hold at once."""
    return parameter(f"Whether all {what} hold together{detail} (Bonferroni).", False)


NAMING = ("attribute", "attributes", "a", "b", "of", "given")
"""What parameters are called that name attributes of the version that is asked about."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Parameters that are declared once: those of a query, of a job, and of a part of a job's."""

    @classmethod
    def of_json(cls, document: JsonObject) -> Self:
        """Return the request of an object whose members were checked; lists become tuples.

        Raises
        ------
        InvalidParameter
            If it has a member that is no parameter, as one of another release may have.
        """
        hints = get_type_hints(cls)
        for name in document:
            if name not in hints:
                raise InvalidParameter(
                    f"there is no parameter {show(name)}; leave it out", field=name
                )
        return cls(**{name: _of_json(hints[name], value) for name, value in document.items()})

    def to_json(self, *without: str) -> dict[str, Any]:
        """Return it as JSON, without the parameters that are named and those that are None."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: _json(value)
            for name, value in values.items()
            if value is not None and name not in without
        }


def _of_json(hint: Any, value: Any) -> Any:
    kind = alternatives(hint)[0][0]
    if isinstance(kind, type) and issubclass(kind, Request) and value is not None:
        return kind.of_json(value)
    inner = get_args(kind)
    if isinstance(value, list):
        return tuple(_of_json(inner[0] if inner else Any, one) for one in value)
    if isinstance(value, dict) and len(inner) == 2:
        return {name: _of_json(inner[1], one) for name, one in value.items()}
    return value


def _json(value: Any) -> Any:
    if isinstance(value, Request):
        return value.to_json()
    if isinstance(value, tuple):
        return [_json(one) for one in value]
    return {name: _json(one) for name, one in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True, kw_only=True)
class Query(Request, Generic[R]):
    """What is asked of one version of a survey; its docstring is what the API says of it."""

    name: ClassVar[str]
    """In addresses and in the action log."""
    command: ClassVar[str]
    """What asks a server; its last word is the command's on a file, after ``records``."""
    summary: ClassVar[str]
    """One line for the list of commands."""
    example: ClassVar[str]
    """Arguments and options of an example in the command's help."""
    looked_at: ClassVar[str]
    """What the action log says was looked at."""
    file_name: ClassVar[str] = ""
    """In the names of table files; by default `name`."""
    family: ClassVar[str] = "queries"
    """First word of the operation's id in the API's document."""
    compares: ClassVar[bool] = False
    """Whether it is about two sources: this version, and the one of the `elsewhere` parameters."""
    serves: ClassVar[str] = ""
    """What pages that are written by hand ask for, in words; see `registry.query_that_serves`."""
    single_answers: ClassVar[str] = ""
    """What it tells of single answers, in words, and so not of a number that is rounded."""
    own_command: ClassVar[tuple[str, ...]] = ()
    """Where its command does more than ask, and is written by hand: `server`, `file`."""
    result_type: ClassVar[type[Result]]

    where: Where | None = parameter(
        "Only reports with one of these categories of each of these attributes, such as "
        "region=North;age=30-39,40-49. By default all reports.",
        None,
        spelling=Spelling(read_where, spelled_where, FORM, joiner=";"),
        common=True,
    )

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # a base that several queries share has no name
        cls.file_name = cls.file_name or getattr(cls, "name", "")
        for base in cls.__dict__.get("__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Query):
                cls.result_type = get_args(base)[0]

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return its fields."""
        return parameters_of(cls)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Self:
        """Return the query of parameters, lists and mappings still as texts; None: the default."""
        parameters = {one.name: one for one in cls.parameters()}
        values = {name: parameters[name].read(value) for name, value in given.items()}
        return cls(**{name: value for name, value in values.items() if value is not None})

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> Self:
        """Return the query of an address's parameters; an empty text is the default."""
        parameters = {one.name: one for one in cls.parameters()}
        for name in texts:
            if name not in parameters:
                raise InvalidParameter(
                    f"{cls.name} has no parameter {show(name)}; it has {', '.join(parameters)}",
                    field=name,
                )
        for name, one in parameters.items():
            if one.required and not texts.get(name):
                raise refusal_of(name)("is missing; add it")
        return cls(**{name: parameters[name].read(text) for name, text in texts.items() if text})

    def address(self) -> str:
        """Return it as an address names it, such as ``independence?a=gender&b=health``."""
        return "?".join(filter(None, (self.name, urlencode(self.spelled()))))

    def names(self) -> dict[str, str]:
        """Return the attributes that it asks for, each with the parameter that names it."""
        asked = {one.name: getattr(self, one.name) for one in self.parameters()}
        values = {name: [one] if isinstance(one, str) else one for name, one in asked.items()}
        return {one: name for name in values if name in NAMING for one in values[name] or ()}

    def spelled(self) -> dict[str, str]:
        """Return the parameters that differ from their defaults, as an address has them."""
        return {
            one.name: one.write(value)
            for one in self.parameters()
            if (value := getattr(self, one.name)) is not None and value != one.default
        }

    @classmethod
    def result_of(cls, document: Mapping[str, object]) -> R:
        """Return the result that is in a document; raises as `Result.read`."""
        found: R = cls.result_type.read(document)  # type: ignore[assignment]  # Query[R] said so
        return found


def parameters_of(request: type[Request]) -> tuple[Parameter, ...]:
    """Return the fields of a request."""
    kind: Any = request  # to mypy, a class with instances that have a hash is none that has one
    return _parameters(kind)


@cache
def _parameters(request: type) -> tuple[Parameter, ...]:
    hints, shared = get_type_hints(request), {one.name for one in fields(Query)}
    declared = sorted(fields(request), key=lambda one: one.name in shared)  # its own come first
    return tuple(_parameter(one, hints[one.name]) for one in declared)


def _parameter(declared: Field[Any], hint: Any) -> Parameter:
    said: Parameter = declared.metadata["parameter"]
    kind = alternatives(hint)[0][0]
    return replace(
        said,
        name=declared.name,
        kind=str if words_of(kind) or said.spelling else kind,
        choices=words_of(kind),
        flag=said.flag or declared.name.replace("_", "-"),
    )
