"""Cross-tables: a heat map with its table, sentences and downloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
from flask import Response

from hushpoll_analysis.estimates.cross_table import CrossTable
from hushpoll_analysis.multiplicity.dependencies import is_tested
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.rows import Cell
from hushpoll_server.charts.specifications import (
    MOST_CELLS_A_SIDE,
    Chart,
    TableFacts,
    as_too_noisy,
    cross_table_chart,
    told,
)
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.frame import (
    CONFIDENCES,
    choice,
    member,
    page,
)
from hushpoll_server.dashboard.select_alls import labels_of
from hushpoll_server.dashboard.surveys import (
    answered,
    asked_of,
    may_export,
    nothing_yet,
    of_survey,
    refusal_in_questions,
)
from hushpoll_server.dashboard.version_pages import shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.group_shares import shares_in_groups
from hushpoll_server.survey_reports.content.headlines import GO_TOGETHER, TOO_NOISY, headline_of
from hushpoll_server.survey_reports.markup.captions import foot_of
from hushpoll_shared.qualifying.possible import cut_words
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.cross_tables import cells_section
from hushpoll_shared.queries.independence import Independence, OutcomeOfTest
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.querying.result import Result, Section
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.wire.documents import JobDocument

SHARES: Final = {"all": "of all people", "row": "of each row", "column": "of each column"}
# Level of the test of independence beside a cross-table.
ALPHA: Final = 0.05
# Tables of three questions that are listed.
MOST_TABLES: Final = 10

C = TypeVar("C", bound=Cell)


@shows("/cross-tables", Role.READER)
def cross_tables(row: VersionRow) -> Response:
    """Show the joint shares of two questions, or let the user choose them."""
    parts = services()
    published = asked_of(row)
    names = [attribute.name for attribute in published.attributes]
    a = choice("a", names)
    b = choice("b", names, next((name for name in names if name != a), a))
    chosen = {
        "a": a,
        "b": b,
        "share": choice("share", SHARES),
        "confidence": choice("confidence", CONFIDENCES, "0.95"),
    }
    labels = labels_of(published)
    frame = of_survey(row, "cross-tables") | {
        "chosen": chosen,
        "confidences": CONFIDENCES,
        "shares": SHARES,
    }
    frame |= {"titles": labels, "sides": labels.items()}
    if a == b:
        return page("cross_tables.html", **frame, refusal=None, withheld=None, table=None)
    try:
        table = _table(row, chosen, most=MOST_CELLS_A_SIDE)
    except InvalidParameter as refusal:
        withheld = refusal_in_questions(refusal, published)
        return page("cross_tables.html", **frame, refusal=None, withheld=withheld, table=None)
    except Refused as refusal:
        return nothing_yet("cross_tables.html", frame, refusal)
    independence = None
    if is_tested(published, a, b):
        query = Independence(a=a, b=b, alpha=ALPHA)
        independence = parts.analysis.result(row, query, may_export=may_export(row))
    title = _title(table, independence)
    chart = _heat_map(chosen, table, published, title)
    table["cut"] = cut_words(cell for cell in table["cells"] if cell["frequency"] is not None)
    return page(
        "cross_tables.html",
        **frame,
        refusal=None,
        withheld=None,
        table=table,
        chart=chart,
        svg=inline(chart, "shows"),
        grid=grid(table["cells"]),
        title=title,
        independence=None if independence is None else independence.to_dict(),
        more={name: labels[name] for name in names if name not in (a, b)},
        three_way=_tables(row),
        most=MOST_CELLS_A_SIDE,
    )


@shows("/cross-table.<form>", Role.READER)
def cross_table_file(row: VersionRow, form: str) -> Response:
    """Return a cross-table's heat map, or the data behind it, as a file."""
    published = asked_of(row)
    names = [attribute.name for attribute in published.attributes]
    chosen = {
        "a": choice("a", names),
        "b": choice("b", names),
        "share": choice("share", SHARES),
        "confidence": choice("confidence", CONFIDENCES, "0.95"),
    }
    table = _table(row, chosen)
    share = "" if chosen["share"] == "all" else f"-{chosen['share']}"
    file_name = f"{row.name}-{row.version}-{chosen['a']}-{chosen['b']}{share}"
    if chosen["share"] == "all":
        shown = table_of("cross-table", table)
    else:
        shown = _table_within(table, chosen["a"], chosen["b"])
        shown = shown.with_methods({"shares": SHARES[chosen["share"]]})
    independence = None
    if is_tested(published, chosen["a"], chosen["b"]):
        query = Independence(a=chosen["a"], b=chosen["b"], alpha=ALPHA)
        independence = services().analysis.result(row, query, may_export=may_export(row))
    chart = _heat_map(chosen, table, published, _title(table, independence))
    return download(form, file_name, chart, shown, published)


@dataclass(frozen=True, kw_only=True)
class _CellWithin:
    """The share of a row, or of a column, that is in one of its cells."""

    a: str
    b: str
    frequency: float | None
    standard_error: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, kw_only=True)
class _Within(Result):
    """A cross-table whose cells are shares of their row, or of their column."""

    title: ClassVar[str] = "cross-table"

    a: str
    b: str
    n: int
    confidence: float
    simultaneous: bool
    intervals: str
    cells: tuple[_CellWithin, ...]

    def sections(self) -> Iterator[Section]:
        """Yield the cells."""
        yield cells_section(self.a, self.b, _CellWithin, self.cells, part="shares")

    def methods(self) -> Mapping[str, object]:
        """Return what was asked."""
        return {"a": self.a, "b": self.b}


def _table_within(table: Mapping[str, Any], a: str, b: str) -> ResultTable:
    return table_of_result(_Within.read({**table, "a": a, "b": b}))


def _table(
    row: VersionRow, chosen: Mapping[str, str], *, most: int | None = None
) -> dict[str, Any]:
    """Return a cross-table; its cells are shares of all people, of each row or of each column.

    With `most`, cells of so many rows and columns may do, with ``facts`` of the whole table.
    """
    parts, a, b = services(), chosen["a"], chosen["b"]
    confidence = float(chosen["confidence"])
    if chosen["share"] == "all":
        about, whole = parts.analysis.table(
            row, a, b, confidence=confidence, may_export=may_export(row)
        )
        parts.actions.looked(member().actor, "cross-tables", row.name, row.version)
        if most is None:
            return replace(whole.result(), about=about).to_dict()
        return {
            **asdict(about),
            "verdict": to_json(whole.verdict),
            "n": whole.n,
            "confidence": confidence,
            "intervals": how_to_read(whole.frequency.size, confidence),
            "cells": whole.cells(most),
            "facts": _facts(whole),
        }
    by_row = chosen["share"] == "row"
    of, given = (b, a) if by_row else (a, b)
    query = shares_in_groups(of=of, given=given, confidence=confidence)
    table = answered(row, query).to_dict()
    names = ("group", "category") if by_row else ("category", "group")
    cells = [
        {
            **dict(zip(("a", "b"), (share[name] for name in names), strict=True)),
            "frequency": share["value"],
            **{key: share[key] for key in ("standard_error", "lower", "upper")},
        }
        for share in table["shares"]
    ]
    if not by_row:
        places = {name: place for place, name in enumerate(dict.fromkeys(c["a"] for c in cells))}
        cells.sort(key=lambda cell: places[cell["a"]])
    return {**table, "cells": cells}


def _tables(row: VersionRow) -> list[JobDocument]:
    """Return the newest tables of several questions, in any state, as the API describes jobs."""
    parts = services()
    return [parts.jobs.describe(job) for job in parts.jobs.newest_of(row, "table")[:MOST_TABLES]]


def _facts(table: CrossTable) -> TableFacts:
    """Return what is said of a whole table, without an entry for each of its cells."""
    place = int(np.argmax(table.frequency))
    row, column = np.unravel_index(place, table.frequency.shape)
    return TableFacts(
        rows=len(table.categories_a),
        columns=len(table.categories_b),
        known=table.frequency.size,
        above=int((table.lower > 0).sum()),
        top={
            "a": table.categories_a[row],
            "b": table.categories_b[column],
            "frequency": float(table.frequency[row, column]),
            "lower": float(table.lower[row, column]),
            "upper": float(table.upper[row, column]),
        },
    )


def _title(table: Mapping[str, Any], independence: OutcomeOfTest | None) -> str:
    """Return the finding of a cross-table: whether the two questions go together."""
    told_of_both = "" if independence is None else headline_of(independence)
    if table["verdict"]["says"] == TOO_NOISY.lower():
        together = told_of_both == GO_TOGETHER
        return f"{GO_TOGETHER}; their shares are too noisy to tell" if together else TOO_NOISY
    if independence is None:
        return "Shares of both answers"
    return f"{TOO_NOISY} whether the two go together" if told_of_both == TOO_NOISY else told_of_both


def _heat_map(
    chosen: Mapping[str, str], table: Mapping[str, Any], published: Published, title: str
) -> Chart:
    labels = labels_of(published)
    a, b = labels[chosen["a"]], labels[chosen["b"]]
    within = {"row": a, "column": b}.get(chosen["share"])
    chart = cross_table_chart(
        a,
        b,
        table["cells"],
        confidence=table["confidence"],
        within=within,
        facts=table.get("facts"),
    )
    part = "cells" if within is None else "shares"
    chart = as_too_noisy(chart) if part_is_noisy(table["verdict"], part) else chart
    shares = f"Share {SHARES[chosen['share']]}." if within is not None else ""
    foot = foot_of(published, table["n"], table["confidence"])
    return told(chart, title, f"{a} By: {b}", *filter(None, (shares, *foot)))


def grid(cells: Sequence[C]) -> list[tuple[str, list[C]]]:
    """Return the cells of the picture row by row, each row with its category."""
    rows: dict[str, list[C]] = {}
    for cell in cells:
        rows.setdefault(cell["a"], []).append(cell)
    drawn = list(rows.items())[:MOST_CELLS_A_SIDE]
    return [(category, row[:MOST_CELLS_A_SIDE]) for category, row in drawn]
