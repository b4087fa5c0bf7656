"""The joint table of three questions, which a job has made: one category of the third at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypedDict

from flask import Response

from hushpoll_server.charts.rows import Cell
from hushpoll_server.charts.specifications import (
    MOST_CELLS_A_SIDE,
    Chart,
    as_too_noisy,
    cross_table_chart,
    told,
)
from hushpoll_server.dashboard.cross_tables import grid
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.frame import choice, member, page
from hushpoll_server.dashboard.select_alls import labels_of
from hushpoll_server.dashboard.surveys import may_export, of_survey, seen
from hushpoll_server.dashboard.version_pages import shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.headlines import TOO_NOISY, of_cell
from hushpoll_server.survey_reports.markup.captions import foot_of
from hushpoll_shared.qualifying.possible import cut_words
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.statistic_tables import table_of


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
    answer = _answer(row, job_id)
    part = _part(answer)
    chart = _chart(part, row)
    return page(
        "joint_table.html",
        **of_survey(row, "cross-tables"),
        job_id=job_id,
        answer=answer,
        part=part,
        chart=chart,
        svg=inline(chart, "shows"),
        grid=grid(part["cells"]),
        most=MOST_CELLS_A_SIDE,
    )


@shows("/tables/<job_id>/table.<form>", Role.READER)
def joint_table_file(row: VersionRow, job_id: str, form: str) -> Response:
    """Return the heat map of a part of a table, or all of the table, as a file."""
    answer = _answer(row, job_id)
    names = "-".join(answer["attributes"])
    return download(
        form,
        f"{row.name}-{row.version}-{names}",
        _chart(_part(answer), row),
        table_of("joint-table", answer),
        services().surveys.published(row),
    )


def _answer(row: VersionRow, job_id: str) -> dict[str, Any]:
    """Return what the job has found, as the API gives it."""
    parts = services()
    job = parts.jobs.find(job_id)
    if job.version_id != row.id or job.kind != "table":
        raise Refused("not-found", f"there is no table {job_id[:32]!r} of this version")
    answer: dict[str, Any] = json.loads(b"".join(parts.jobs.result(job)))
    groups = parts.analysis.seen(row, may_export=may_export(row))
    if groups is not None:
        complete = answer["n"] == parts.releases.reports(row)
        withheld = groups.why_not_kept(answer["attributes"], complete=complete)
        if withheld:
            raise Refused("forbidden", withheld)
    parts.actions.looked(member().actor, "joint-tables", row.name, row.version)
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


def _chart(part: _Part, row: VersionRow) -> Chart:
    published = seen(row)
    labels = labels_of(published)
    a, b = labels.get(part["a"], part["a"]), labels.get(part["b"], part["b"])
    chart = cross_table_chart(a, b, part["cells"], confidence=part["confidence"])
    chart = as_too_noisy(chart) if part["noisy"] else chart
    question = f"{a} By: {b}"
    if part["third"] is not None:
        question += f" Only: {labels.get(part['third'], part['third'])} {part['chosen']}"
    foot = foot_of(published, part["n"], part["confidence"])
    return told(chart, _title(part), question, *foot)


def _title(part: _Part) -> str:
    """Return the finding of a part of the table: its largest share."""
    cells = [(one["frequency"], one["lower"], one["upper"], one) for one in part["cells"]]
    told = [one for one in cells if one[0] is not None]
    if part["noisy"] or not told:
        return TOO_NOISY
    value, lower, upper, top = max(told, key=lambda one: one[0] or 0.0)
    answers = [top["a"], top["b"], *filter(None, [part["chosen"]])]
    return of_cell(answers, value or 0.0, lower, upper)
