"""A result: what a query comes to, a frozen dataclass whose fields are the members of its JSON.

Its table, its text and its schema follow from its fields and from the sections that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from hushpoll_shared.qualifying.domains import COLUMN, Where, checked_where, where_words
from hushpoll_shared.qualifying.possible import Possible
from hushpoll_shared.qualifying.subject import OfFile, OfRelease, heading, options_sentence
from hushpoll_shared.qualifying.verdict import Reach, Verdict, reaches_of_shares
from hushpoll_shared.querying.documents import member as member
from hushpoll_shared.querying.documents import read_members, to_json
from hushpoll_shared.spelling.intervals import CANNOT_CONCLUDE
from hushpoll_shared.tables.result_table import Cell

_WHERE_THERE_ARE: Final = ("where", "small_groups", "options")
"""Members that the JSON has only where they say something."""


OF_RELEASE: Final = ("survey", "version", "digest", "release", "released_at", "next_release")
"""What an answer says of its survey and release, which a result in Python does not know."""

GROUPS: Final = "shares in groups"
"""A kind of finding: the largest difference of shares between groups."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tells:
    """What the rows of a section are, in the words of the table that all statistics share.

    What is left out is read from the section: see :mod:`hushpoll_shared.tidying`.
    """

    statistic: str = ""
    """What is estimated."""
    question: str = ""
    """Which question, or questions, it is about."""
    category: tuple[str, ...] = ("category",)
    """Members of a row that say of which answer; several stand for several questions."""
    group: str = ""
    """The question whose categories the groups are."""
    reference: str | None = None
    """The group that is subtracted."""
    n: int | None = None
    """Reports behind the rows, where they are fewer than those of the result."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Members with a number of rows that are no estimates with intervals, and what it is."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of a section's text: its heading, where ``{level}`` is the confidence, and cells."""

    heading: str
    cell: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Line:
    """A row that other words name than its own members, or for which something else is possible."""

    row: Any
    words: tuple[str, ...] = ()
    labels: Mapping[str, Cell] = field(default_factory=dict)
    possible: Possible | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Rows of a result that belong together; all is about the text unless it says otherwise."""

    of: type
    """Dataclass of the rows; each of its members is a column of a table file."""
    also: type | None = None
    """Another one that rows may have."""
    rows: Iterable[Any]
    """Of `of`, or of `Line`."""
    title: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    """The headings of what names a row, each with the member that has it."""
    shown: tuple[TextColumn, ...] = ()
    """The numbers; a section without is in table files alone."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Columns that stand first in a table file, each with the member that has it. A column without
    such a member takes it from `fixed` or from the `Line`."""
    fixed: Mapping[str, Cell] = field(default_factory=dict)
    """Labels that are the same in all rows."""
    hidden: Collection[str] = ()
    """Columns that a table file does not have."""
    below: tuple[str, ...] = ()
    """Sentences below the rows."""
    part: str | Callable[[Any], str] = ""
    """Of the result, which the verdict may call too noisy to tell; or what gives it for a row."""
    possible: Possible | None = None
    """Ends to which intervals are cut where they are shown; a `Line` may have its own."""
    interval_of: str = ""
    """Member of a row whose interval is shown; empty: that of the row itself."""
    tells: Tells = field(default_factory=Tells)
    """In the table that all statistics share."""

    def lines(self) -> Iterator[Line]:
        """Yield its rows; one that is no line of its own has no words."""
        return (one if isinstance(one, Line) else Line(one) for one in self.rows)

    def part_of(self, row: Any) -> str:
        """Return the part that a row belongs to."""
        return self.part if isinstance(self.part, str) else self.part(row)


def says_nothing(rows: Iterable[Any]) -> bool:
    """Return whether one of the estimates is none, or has a set that holds everything."""
    return any(
        row is not None
        and (getattr(row, "value", row) is None or getattr(row, "says_nothing", False))
        for row in rows
    )


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a query comes to."""

    title: ClassVar[str]
    """What its table is called, in a few words."""

    told_as: ClassVar[str] = ""
    """The kind of finding that its headline is; empty where a page has words for it alone."""

    notes_heading: ClassVar[str] = ""
    """Under which words a page folds its notes below its headline; empty: they stand open."""

    has_options: ClassVar[bool] = False
    """Whether its rows have the texts of options, so that they need not be told beside it."""

    about: OfRelease | OfFile | None = None
    """None of a result that was computed in Python."""
    where: Where | None = member(
        "By attribute, the categories of the reports that it is about; absent: all reports.", None
    )
    """The domain that it is about, as the query named it; None: all reports."""
    small_groups: tuple[str, ...] | None = None
    """Which groups in clear a reader who may not export sees merged or left out, in sentences."""
    options: Mapping[str, str] | None = member(
        "Question and text of the options of select-alls that it is about, by name; absent: of "
        "none.",
        None,
    )
    """Question and text of the options of select-alls that it is about, by name, unless its rows
    have the texts."""
    verdict: Verdict | None = member("Whether so many reports can tell what is asked.", None)
    """None of a result that was put together by hand."""

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals reach, of which the verdict is made; half the width of each.

        The verdict asks a result that is computed from expected counts. By default the rows of a
        section are the shares of one question's categories.
        """
        return reaches_of_shares(self.sections())

    def too_noisy(self, part: str) -> bool:
        """Return whether a part of it cannot be told."""
        return self.verdict is not None and (self.verdict.noisy or part in self.verdict.too_noisy)

    def sections(self) -> Iterator[Section]:
        """Yield what is shown, in order."""
        raise NotImplementedError

    def categories_of(self) -> tuple[str, ...]:
        """Return the attributes whose categories it takes for their answers, and says no more."""
        return ()

    def notes(self) -> Iterator[str]:
        """Yield the sentences below all sections; the first where a row cannot conclude."""
        if says_nothing(line.row for one in self.sections() for line in one.lines()):
            yield CANNOT_CONCLUDE
        intervals = getattr(self, "intervals", None)
        if intervals is not None:
            yield intervals

    def said_of_options(self) -> tuple[str, ...]:
        """Return a sentence that says what the options say by whose names it is about, or none."""
        return (options_sentence(self.options),) if self.options else ()

    def methods(self) -> Mapping[str, object]:
        """Return more lines for the sheet of methods of a table file."""
        return {}

    def of_what(self) -> str:
        """Return the line that says which reports it is about."""
        return heading({**self._about(), **self._named("n", "estimator")})

    def to_dict(self) -> dict[str, Any]:
        """Return it as HTTP and ``--json`` give it; what there is no number of is null."""
        members = {
            name: value
            for name, value in to_json(self).items()
            if name != "about" and (value is not None or name not in _WHERE_THERE_ARE)
        }
        return {**self._about(), **members}

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Self:
        """Return the result of a document; KeyError, TypeError or ValueError if it is none."""
        kind: type[OfRelease | OfFile] = OfRelease if "release" in document else OfFile
        about = kind(**read_members(kind, document)) if "survey" in document else None
        where = checked_where(document["where"]) if "where" in document else None
        return cls(about=about, where=where, **read_members(cls, document, "about", "where"))

    def _about(self) -> dict[str, object]:
        return {} if self.about is None else dict(to_json(self.about))

    def _named(self, *names: str) -> dict[str, object]:
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def about_and_how(self) -> dict[str, object]:
        """Return the lines of the sheet of methods, in words; what it lacks is None."""
        about = self._about()
        return {
            "verdict": None if self.verdict is None else self.verdict.sentence,
            **{name: about.get(name) for name in OF_RELEASE},
            **self._named("n"),
            COLUMN: None if self.where is None else where_words(self.where),
            "pending": about.get("pending"),
            **{f"file: {name}": value for name, value in getattr(self.about, "inputs", {}).items()},
            **self._named("confidence", "simultaneous", "estimator", "method", "alpha", "rate"),
            **self.methods(),
            "small groups": None if self.small_groups is None else " ".join(self.small_groups),
            "options": " ".join(self.said_of_options()) or None,
            "how to read it": getattr(self, "intervals", None),
        }
