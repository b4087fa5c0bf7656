"""Jobs that make a file to take away: an export of records, a report of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from hushpoll_shared.jobs.job import Job, Size, Word, confidence_of
from hushpoll_shared.querying.query import Request, parameter
from hushpoll_shared.wire.documents.jobs import JobName

ExportFormat = Literal["records", "parquet", "csv", "sav", "dta"]
ExportContent = Literal["records", "indicators", "debiased"]
ExportCells = Literal["labels", "codes", "hexadecimal"]
"""What stands in the cells of records in a CSV file."""

MOST_RESULTS: Final = 20
MOST_CROSS_TABLES: Final = 20
MOST_REGRESSIONS: Final = 10
MOST_FIGURES_AT_ONCE: Final = 24
"""Charts of a report that a request waits for; each takes a tenth of a second to draw."""
MOST_PICTURES_AT_ONCE: Final = 48
"""Pictures in the files of such a report; each option of a select-all has one."""


@dataclass(frozen=True, kw_only=True)
class Export(Job):
    """Ask a worker for a file of the version's records that is too large to wait for."""

    name: ClassVar[JobName] = "export"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "an export of records"
    body: ClassVar[str] = "The form of a file of records."

    format: ExportFormat = parameter(
        "`records`: the file that carries its own manifest; `sav` and `dta` are of SPSS and Stata, "
        "with labels.",
        "records",
    )
    content: ExportContent = parameter(
        "What a table's columns are: what was reported; a 0/1 column for each category; or the "
        "debiased indicators, whose means are unbiased shares.",
        "records",
    )
    raw: bool = parameter(
        "Of CSV: leave texts that begin with = + - @ or a tab as they are; otherwise they have an "
        "apostrophe before them, so that no spreadsheet takes them for formulas.",
        False,
    )
    cells: ExportCells | None = parameter(
        "Of records in CSV: labels (the default) or codes, and a 0/1 column for each category "
        "where a record does not have one; or the bytes of a record in hexadecimal.",
        None,
    )
    language: Annotated[str, Size(pattern=r"^[a-zA-Z0-9-]{2,20}$")] | None = parameter(
        "Of the labels of `csv`, `sav` and `dta`; by default the survey's own.", None
    )
    design: Annotated[str, Size(most=5_000)] | None = parameter(
        "Of a table: a design as weighted-shares takes it, as JSON, of attributes in clear. Its "
        "weights and strata become the columns weight, stratum and stratum_size.",
        None,
    )


@dataclass(frozen=True, kw_only=True)
class ReportChoices(Request):
    """What a report shows."""

    attributes: Annotated[tuple[Word, ...], Size(most=256)] = parameter(
        "Questions that are shown; by default all of them.", empty=tuple
    )
    cross_tables: Annotated[
        tuple[Annotated[tuple[Word, ...], Size(2, 2)], ...], Size(most=MOST_CROSS_TABLES)
    ] = parameter("Pairs of attributes, the rows' first.", empty=tuple)
    estimator: Literal["unbiased", "projected", "shrunk"] = parameter(
        "All but unbiased have no interval.", "unbiased"
    )
    confidence: float = confidence_of("intervals")
    fairness: bool = parameter("Whether finished audits of fairness are shown.", True, strict=True)
    trend: bool = parameter(
        "Whether questions are shown beside earlier versions that ask them with the same answers.",
        False,
        strict=True,
    )


@dataclass(frozen=True, kw_only=True)
class Report(ReportChoices, Job):
    """Ask a worker for a report of the last release that is too long to wait for.

    It is the file that `GET .../report` gives. A report depends on nothing that is not released. To
    fetch it, a token needs the scope `read`.
    """

    name: ClassVar[JobName] = "report"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "a report of results"
    body: ClassVar[str] = "What a report shows, and the form of its file."

    results: Annotated[tuple[Annotated[str, Size(most=4_000)], ...], Size(most=MOST_RESULTS)] = (
        parameter(
            "What else is shown: the name of a statistic's route and, after a question mark, its "
            "parameters as an address has them.",
            empty=tuple,
        )
    )
    regressions: Annotated[
        tuple[Annotated[str, Size(pattern=r"^[0-9a-f]{32}$")], ...], Size(most=MOST_REGRESSIONS)
    ] = parameter("Ids of kept regressions; `GET .../regressions` lists them.", empty=tuple)
    language: Literal["en", "de", "fr", "es"] = parameter(
        "Of its words. Other results and regressions have words in `en` alone.", "en"
    )
    format: Literal["html", "pdf", "bundle"] = parameter(
        "`html` and `pdf` are one file to read and to print; `bundle` is a ZIP from which "
        "`hushpoll report --from` makes the same report.",
        "html",
    )
