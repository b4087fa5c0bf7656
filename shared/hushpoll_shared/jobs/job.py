"""A kind of job: its parameters, and what everybody knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.querying.query import Query, Request, parameter
from hushpoll_shared.wire.documents.jobs import JobName


@dataclass(frozen=True, slots=True)
class Size:
    """How long a text, a list or an object may be, and which texts there are."""

    least: int | None = None
    most: int | None = None
    pattern: str | None = None


Word = Annotated[str, Size(1, 64)]
Category = Annotated[str, Size(1, 1000)]


def confidence_of(intervals: str) -> Any:
    """Return the field that says how sure intervals are."""
    least, most = CONFIDENCES
    return parameter(f"Of the {intervals}.", 0.95, least=least, most=most)


def asked_as(query: type[Query[Any]], name: str) -> Any:
    """Return a field as a query declares it, where a job does in turn what the query asks."""
    (said,) = (one for one in query.parameters() if one.name == name)
    return parameter(said.means, said.default, least=said.least, most=said.most, above=said.above)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a result is called that is kept until it is deleted."""

    noun: str
    """In routes, files and the action log; its plural ends in s."""
    looked_at: str
    """What the action log calls all of them."""
    listing: str
    """The text of the route that lists them."""
    work: str = ""
    """What messages call the job that makes one; by default `noun`."""
    besides: str = "its result"
    """What is deleted with the job."""

    @property
    def maker(self) -> str:
        """What messages call the job that makes one."""
        return self.work or self.noun

    @property
    def deletion(self) -> str:
        """The text of the route that deletes one."""
        article = "an" if self.maker[0] in "aeiou" else "a"
        return (
            f"Delete {article} {self.maker} that has ended, with {self.besides}.\n\n"
            "For the token that asked for it, and for administrators."
        )


@dataclass(frozen=True, kw_only=True)
class Job(Request):
    """What a worker is asked for; the docstring of a kind is what the API says of its route."""

    name: ClassVar[JobName]
    """The last part of its route, and of the codes in the action log."""
    scope: ClassVar[str]
    """What the API token that asks for it needs."""
    words: ClassVar[str]
    """What it makes, as the action log says it."""
    body: ClassVar[str]
    """What its parameters are, as the API says it."""
    table: ClassVar[str | None] = None
    """The table of ``hushpoll_shared.statistic_tables`` that its result, JSON, is also given as."""
    rows: ClassVar[str] = ""
    """The member of that result that has the table's rows."""


@dataclass(frozen=True, kw_only=True)
class KeptJob(Job):
    """A job whose result is kept until it is deleted, with its job."""

    kept: ClassVar[Kept]
