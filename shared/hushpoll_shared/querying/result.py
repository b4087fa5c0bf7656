"""A result: what a query comes to, a frozen dataclass whose fields are the members of its JSON.

Its table, its text and its schema follow from its fields and from the sections that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Self

from hushpoll_shared.estimators import UNBIASED
from hushpoll_shared.querying.documents import read_members, to_json
from hushpoll_shared.querying.documents import told as told
from hushpoll_shared.querying.domains import COLUMN, Where, checked_where, where_words
from hushpoll_shared.querying.possible import Possible
from hushpoll_shared.querying.verdict import (
    Reach,
    Verdict,
    half_width,
    share_tells,
)
from hushpoll_shared.tables.result_table import Cell

GROUPS: Final = "shares in groups"
"""A kind of finding: the largest difference of shares between groups."""
SMALL_GROUPS: Final = (
    "In words, which groups in clear were merged or left out for a reader who may not export; "
    "absent: none."
)
OPTIONS: Final = (
    "Question and text of the options of select-alls that it is about, by name; absent: of none."
)
WHERE: Final = "By attribute, the categories of the reports that it is about; absent: all reports."


@dataclass(frozen=True, kw_only=True)
class OfRelease:
    """The survey version, and the release of it, that a server's result is about."""

    survey: str
    version: int
    digest: str
    pending: int | None
    release: Literal["daily", "weekly", "end", "immediate"]
    released_at: str | None
    next_release: str | None


@dataclass(frozen=True, kw_only=True)
class OfFile:
    """The survey version, and the file of records, that a result is about."""

    survey: str
    version: int
    digest: str
    inputs: Mapping[str, str]


def checked_options(value: object) -> dict[str, str]:
    """Return the options of a document by name; raises TypeError for what is none."""
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) for item in value.items() for text in item
    ):
        raise TypeError(f"options are of type {type(value).__name__}, and not texts by name")
    return dict(value)


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of a section's text: its heading, where ``{level}`` is the confidence, and cells."""

    heading: str
    cell: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Line:
    """A row that other words name than its own members, or for which something else is possible."""

    row: Any
    words: tuple[str, ...]
    labels: Mapping[str, Cell] = field(default_factory=dict)
    possible: Possible | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tells:
    """What the rows of a section are, in the words of the table that all statistics share.

    What is left out is read from the section: see :mod:`hushpoll_shared.querying.tidy`.

    Attributes
    ----------
    statistic : str
        What is estimated.
    question : str
        Of which question, or questions.
    category : tuple of str
        Members of a row that say of which answer; several stand for answers to several questions.
    group : str
        The question whose categories the groups are.
    reference : str or None
        The group that is subtracted.
    n : int or None
        Reports behind the rows, where they are fewer than those of the result.
    numbers : mapping of str to str
        Of rows that are no estimates with intervals: members with a number, and what it is.
    """

    statistic: str = ""
    question: str = ""
    category: tuple[str, ...] = ("category",)
    group: str = ""
    reference: str | None = None
    n: int | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Rows of a result that belong together.

    Attributes
    ----------
    of : type
        Dataclass of the rows; each of its members is a column of a table file.
    also : type, optional
        Another one that rows may have.
    rows : iterable
        Of `of`, or of `Line`.
    title : str
        Of the text.
    words : mapping of str to str
        The headings of what names a row in the text, each with the member that has it.
    shown : tuple of Shown
        The numbers in the text; a section without is in table files alone.
    labels : mapping of str to str
        Columns that stand first in a table file, each with the member that has it. A column without
        such a member takes it from `fixed` or from the `Line`.
    fixed : mapping
        Labels that are the same in all rows.
    hidden : collection of str
        Columns that a table file does not have.
    below : tuple of str
        Sentences below the rows in the text.
    part : str or callable
        Of the result, which the verdict may call too noisy to tell; or what gives it for a row.
    possible : (float, float) or None
        Least and largest value that there can be, to which intervals are cut where they are shown;
        a `Line` may have its own.
    interval_of : str
        Member of a row whose interval is shown; empty: that of the row itself.
    tells : Tells
        What the rows are, in the table that all statistics share.
    """

    of: type
    also: type | None = None
    rows: Iterable[Any]
    title: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[Shown, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Cell] = field(default_factory=dict)
    hidden: Collection[str] = ()
    below: tuple[str, ...] = ()
    part: str | Callable[[Any], str] = ""
    possible: Possible | None = None
    interval_of: str = ""
    tells: Tells = field(default_factory=Tells)

    def part_of(self, row: Any) -> str:
        """Return the part that a row belongs to."""
        return self.part if isinstance(self.part, str) else self.part(row)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a query comes to.

    Attributes
    ----------
    about : OfRelease, OfFile or None
        Which survey and release; None of a result that was computed in Python.
    where : mapping or None
        The domain that it is about, as the query named it; None: all reports.
    small_groups : tuple of str or None
        Which groups in clear were merged or left out for a reader who may not export, in sentences;
        None: none were.
    options : mapping of str to str, or None
        Question and text of the options of select-alls that it is about, by name; None: of none, or
        its rows have the texts.
    verdict : Verdict or None
        Whether it can tell anything; None of a result that was put together by hand.
    """

    title: ClassVar[str]
    """Of its table, in a few words."""

    told_as: ClassVar[str] = ""
    """The kind of finding that its headline is; empty where a page has words for it alone."""

    has_options: ClassVar[bool] = False
    """Whether its rows have the texts of options, so that they need not be told beside it."""

    about: OfRelease | OfFile | None = None
    where: Where | None = field(default=None, metadata={"description": WHERE})
    small_groups: tuple[str, ...] | None = field(
        default=None, metadata={"description": SMALL_GROUPS}
    )
    options: Mapping[str, str] | None = field(default=None, metadata={"description": OPTIONS})
    verdict: Verdict | None = field(
        default=None, metadata={"description": "Whether so many reports can tell what is asked."}
    )

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals reach, of which the verdict is made; half the width of each.

        The verdict asks a result that is computed from expected counts. By default the rows of a
        section are the shares of one question's categories.
        """
        for section in self.sections():
            rows = [one.row if isinstance(one, Line) else one for one in section.rows]
            part = section.part if isinstance(section.part, str) else ""
            what = f"a share of {section.title}" if section.title else "a share"
            yield Reach(
                part=part, what=what, half_width=half_width(rows), most=share_tells(len(rows))
            )

    def too_noisy(self, part: str) -> bool:
        """Return whether a part of it cannot be told."""
        return self.verdict is not None and (self.verdict.noisy or part in self.verdict.too_noisy)

    def sections(self) -> Iterator[Section]:
        """Yield what is shown, in order."""
        raise NotImplementedError

    def notes(self) -> Iterator[str]:
        """Yield the sentences below all sections."""
        intervals = getattr(self, "intervals", None)
        if intervals is not None:
            yield intervals

    def said_of_options(self) -> tuple[str, ...]:
        """Return a sentence that says what the options say by whose names it is about, or none."""
        if not self.options:
            return ()
        words = (f"{name} is the option “{text}”" for name, text in self.options.items())
        return (f"{'; '.join(words)}.",)

    def methods(self) -> Mapping[str, object]:
        """Return more lines for the sheet of methods of a table file."""
        return {}

    def of_what(self) -> str:
        """Return the line that says which reports it is about."""
        return heading({**self._about(), **self._named("n", "estimator")})

    def to_dict(self) -> dict[str, Any]:
        """Return it as HTTP and ``--json`` give it; what there is no number of is null."""
        members: dict[str, Any] = to_json(self)
        del members["about"]
        if self.where is None:
            del members["where"]
        if self.small_groups is None:
            del members["small_groups"]
        if self.options is None:
            del members["options"]
        return {**self._about(), **members}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the result that a document has.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is no such document.
        """
        about: OfRelease | OfFile | None = None
        if "release" in document:
            about = OfRelease(**read_members(OfRelease, document))
        elif "survey" in document:
            about = OfFile(**read_members(OfFile, document))
        where = checked_where(document["where"]) if "where" in document else None
        small = tuple(document["small_groups"]) if "small_groups" in document else None
        options = checked_options(document["options"]) if "options" in document else None
        verdict: Verdict | None = None
        if document.get("verdict") is not None:  # results that were kept before have none
            verdict = Verdict(**read_members(Verdict, document["verdict"]))
        common = ("about", "where", "small_groups", "options", "verdict")
        own = read_members(cls, document, without=common)
        return cls(
            about=about, where=where, small_groups=small, options=options, verdict=verdict, **own
        )

    def _about(self) -> dict[str, Any]:
        return {} if self.about is None else dict(to_json(self.about))

    def _named(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def about_and_how(self) -> dict[str, object]:
        """Return the lines of the sheet of methods, in words; what it lacks is None."""
        about = self._about()
        inputs = about.pop("inputs", {})
        order = ("survey", "version", "digest", "release", "released_at", "next_release")
        return {
            "verdict": None if self.verdict is None else self.verdict.sentence,
            **{name: about.get(name) for name in order},
            **self._named("n"),
            COLUMN: None if self.where is None else where_words(self.where),
            "pending": about.get("pending"),
            **{f"file: {name}": value for name, value in inputs.items()},
            **self._named("confidence", "simultaneous", "estimator", "method", "alpha", "rate"),
            **self.methods(),
            "small groups": None if self.small_groups is None else " ".join(self.small_groups),
            "options": " ".join(self.said_of_options()) or None,
            "how to read it": getattr(self, "intervals", None),
        }


def heading(answer: Mapping[str, object]) -> str:
    """Return the line that says which reports an answer is about."""
    estimator = answer.get("estimator", UNBIASED)
    return (
        f"{answer.get('survey')} version {answer.get('version')}, {answer.get('n')} reports"
        + (f", {answer['pending']} more pending" if answer.get("pending") else "")
        + _released(answer)
        + (f", estimator {estimator}" if estimator != UNBIASED else "")
    )


def _released(answer: Mapping[str, object]) -> str:
    """Say which release it is, of a survey that releases on a schedule."""
    if not answer.get("released_at"):
        return ""
    following = answer.get("next_release")
    return f", released at {answer['released_at']}" + (
        f"; the next {following}" if following else ""
    )
