"""Cross-tables of two questions, and joint tables of three: a heat map, its table and downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final, TypedDict, TypeVar

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
from hushpoll_server.dashboard.figures import download, drawn
from hushpoll_server.dashboard.frame import (
    choice,
    chosen_confidence,
    page,
)
from hushpoll_server.dashboard.questions import labels_of
from hushpoll_server.dashboard.surveys import (
    answered,
    asked_of,
    may_export,
    nothing_yet,
    of_survey,
    refusal_in_questions,
    result_of,
    seen,
    why_not_shown,
)
from hushpoll_server.dashboard.version_pages import note_look, shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.group_shares import shares_in_groups
from hushpoll_server.survey_reports.content.headlines import (
    GO_TOGETHER,
    TOO_NOISY,
    headline_of,
    of_cell,
)
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
from hushpoll_shared.wire.documents.jobs import JobDocument

SHARES: Final = {"all": "of all people", "row": "of each row", "column": "of each column"}
# Level of the test of independence beside a cross-table.
ALPHA: Final = 0.05
# Tables of three questions that are listed.
MOST_TABLES: Final = 10

C = TypeVar("C", bound=Cell)


@shows("/cross-tables", Role.READER)
def cross_tables(row: VersionRow) -> Response:
    """Show the joint shares of two questions, or let the user choose them."""
    published = asked_of(row)
    chosen, labels = _chosen(published), labels_of(published)
    a, b = chosen["a"], chosen["b"]
    frame = of_survey(row, "cross-tables") | {"chosen": chosen, "shares": SHARES}
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
    independence = _independence(row, published, chosen)
    title = _title(table, independence)
    chart = _heat_map(chosen, table, published, title)
    table["cut"] = cut_words(cell for cell in table["cells"] if cell["frequency"] is not None)
    return page(
        "cross_tables.html",
        **frame,
        refusal=None,
        withheld=None,
        table=table,
        **drawn(chart),
        grid=grid(table["cells"]),
        title=title,
        independence=None if independence is None else independence.to_dict(),
        more={name: text for name, text in labels.items() if name not in (a, b)},
        three_way=_tables(row),
        most=MOST_CELLS_A_SIDE,
    )


@shows("/cross-table.<form>", Role.READER)
def cross_table_file(row: VersionRow, form: str) -> Response:
    """Return a cross-table's heat map, or the data behind it, as a file."""
    published = asked_of(row)
    chosen = _chosen(published)
    table = _table(row, chosen)
    share = "" if chosen["share"] == "all" else f"-{chosen['share']}"
    what = f"{chosen['a']}-{chosen['b']}{share}"
    if chosen["share"] == "all":
        shown = table_of("cross-table", table)
    else:
        shown = _table_within(table, chosen["a"], chosen["b"])
        shown = shown.with_methods({"shares": SHARES[chosen["share"]]})
    independence = _independence(row, published, chosen)
    chart = _heat_map(chosen, table, published, _title(table, independence))
    return download(row, form, what, chart, shown)


def _chosen(published: Published) -> dict[str, str]:
    """Return what the address chooses: two questions, of which the shares are, the confidence."""
    names = [attribute.name for attribute in published.attributes]
    a = choice("a", names)
    return {
        "a": a,
        "b": choice("b", names, next((name for name in names if name != a), a)),
        "share": choice("share", SHARES),
        "confidence": chosen_confidence(),
    }


def _independence(
    row: VersionRow, published: Published, chosen: Mapping[str, str]
) -> OutcomeOfTest | None:
    """Return the test of the two questions; None where they depend on each other by design."""
    a, b = chosen["a"], chosen["b"]
    if not is_tested(published, a, b):
        return None
    return result_of(row, Independence(a=a, b=b, alpha=ALPHA))


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
        note_look(row, "cross-tables")
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


class _Cell(Cell):
    """A cell with its share by maximum likelihood, where that was asked for."""

    likelihood: float | None


class _Part(TypedDict):
    """The cells of the first two questions, a and b, for the chosen category of the third."""

    a: str
    b: str
    third: str | None
    categories: list[str]
    chosen: str | None
    cells: list[_Cell]
    cut: str
    confidence: float
    n: int
    noisy: bool


@shows("/tables/<job_id>", Role.READER)
def joint_table(row: VersionRow, job_id: str) -> Response:
    """Show the first two questions of a finished table, for one category of the third."""
    answer = _answer_of_job(row, job_id)
    part = _part(answer)
    chart = _chart_of_part(part, row)
    return page(
        "joint_table.html",
        **of_survey(row, "cross-tables"),
        job_id=job_id,
        answer=answer,
        part=part,
        **drawn(chart),
        grid=grid(part["cells"]),
        most=MOST_CELLS_A_SIDE,
    )


@shows("/tables/<job_id>/table.<form>", Role.READER)
def joint_table_file(row: VersionRow, job_id: str, form: str) -> Response:
    """Return the heat map of a part of a table, or all of the table, as a file."""
    answer = _answer_of_job(row, job_id)
    chart, table = _chart_of_part(_part(answer), row), table_of("joint-table", answer)
    return download(row, form, "-".join(answer["attributes"]), chart, table)


def _answer_of_job(row: VersionRow, job_id: str) -> dict[str, Any]:
    """Return what the job has found, as the API gives it."""
    parts = services()
    job = parts.jobs.find(job_id)
    if job.version_id != row.id or job.kind != "table":
        raise Refused("not-found", f"there is no table {job_id[:32]!r} of this version")
    answer: dict[str, Any] = json.loads(b"".join(parts.jobs.result(job)))
    if withheld := why_not_shown(row, answer, answer["attributes"]):
        raise Refused("forbidden", withheld)
    note_look(row, "joint-tables")
    return answer


def _part(answer: Mapping[str, Any]) -> _Part:
    """Return the cells in which the third question has the category that the address chooses."""
    a, b, *third = answer["attributes"]
    categories = list(dict.fromkeys(cell["categories"][-1] for cell in answer["cells"]))
    chosen = choice("third", categories) if third else None
    cells: list[_Cell] = [
        {
            "a": cell["categories"][0],
            "b": cell["categories"][1],
            "frequency": cell["frequency"],
            "lower": cell["lower"],
            "upper": cell["upper"],
            "likelihood": cell.get("likelihood"),
        }
        for cell in answer["cells"]
        if chosen is None or cell["categories"][2] == chosen
    ]
    return {
        "a": a,
        "b": b,
        "third": third[0] if third else None,
        "categories": categories,
        "chosen": chosen,
        "cells": cells,
        "cut": cut_words(cells),
        "confidence": answer["confidence"],
        "n": answer["n"],
        # a table that was made before there were verdicts has none
        "noisy": part_is_noisy(answer.get("verdict"), "cells"),
    }


def _chart_of_part(part: _Part, row: VersionRow) -> Chart:
    published = seen(row)
    labels = labels_of(published)
    a, b = labels.get(part["a"], part["a"]), labels.get(part["b"], part["b"])
    chart = cross_table_chart(a, b, part["cells"], confidence=part["confidence"])
    chart = as_too_noisy(chart) if part["noisy"] else chart
    question = f"{a} By: {b}"
    if part["third"] is not None:
        question += f" Only: {labels.get(part['third'], part['third'])} {part['chosen']}"
    foot = foot_of(published, part["n"], part["confidence"])
    return told(chart, _title_of_part(part), question, *foot)


def _title_of_part(part: _Part) -> str:
    """Return the finding of a part of the table: its largest share."""
    cells = [(one["frequency"], one["lower"], one["upper"], one) for one in part["cells"]]
    told = [one for one in cells if one[0] is not None]
    if part["noisy"] or not told:
        return TOO_NOISY
    value, lower, upper, top = max(told, key=lambda one: one[0] or 0.0)
    answers = [top["a"], top["b"], *filter(None, [part["chosen"]])]
    return of_cell(answers, value or 0.0, lower, upper)
