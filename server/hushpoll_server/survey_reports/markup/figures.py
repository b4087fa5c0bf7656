"""The figures of a report: charts with the tables behind them, and their pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hushpoll_server.charts.fairness import fairness_chart
from hushpoll_server.charts.figures import level
from hushpoll_server.charts.regressions import regression_chart, slopes_of
from hushpoll_server.charts.rows import Metric, Specification
from hushpoll_server.charts.specifications import (
    LIGHT,
    Chart,
    alone,
    as_one_image,
    as_too_noisy,
    cross_table_chart,
    estimates_chart,
    told,
)
from hushpoll_server.survey_reports.content.findings import headline_row
from hushpoll_server.survey_reports.content.group_shares import SHARES_IN_GROUPS, chart_of_groups
from hushpoll_server.survey_reports.content.headlines import of_share
from hushpoll_server.survey_reports.content.numbers import numbers_chart
from hushpoll_server.survey_reports.content.waves import trends_of
from hushpoll_server.survey_reports.content.wording import SurveyWords
from hushpoll_server.survey_reports.markup.captions import foot_of
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.translations.speech import say, speaking
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.querying.registry import query_that_serves
from hushpoll_shared.spelling.text import isolated
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.wire.documents.audits import AuditDocument, MetricDocument

Draw = Callable[[Specification], bytes]
"""Returns the SVG of a Vega-Lite specification."""

# No text of the data has a < in SVG, so that only attributes of elements are changed.
_TAG: Final = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class Figure:
    """One chart of a report; its pictures are drawn where they are needed."""

    key: str
    """Names its files."""
    chart: Chart | None
    """None of an audit all of whose metrics are withheld, and of other results."""
    table: ResultTable
    """All the data behind it."""
    draw: Draw

    @cached_property
    def svg(self) -> str | None:
        """The picture in the tokens of the style sheet."""
        if self.chart is None:
            return None
        return as_one_image(self.draw(self.chart.specification).decode())

    @property
    def light_svg(self) -> str | None:
        """The picture in the colours of the light theme, to be printed within a page."""
        return None if self.svg is None else _TAG.sub(_in_light, self.svg)

    @cached_property
    def alone_svg(self) -> str | None:
        """The picture as a file: in light colours, with what is said around it."""
        return None if self.chart is None else as_one_image(self.draw(alone(self.chart)).decode())

    @property
    def specification(self) -> bytes | None:
        """The Vega-Lite specification of that file as JSON."""
        if self.chart is None:
            return None
        return json.dumps(alone(self.chart), indent=1).encode() + b"\n"


def figures_of(basis: Basis, results: Mapping[str, object], draw: Draw) -> list[Figure]:
    """Return the figures of a report, whose pictures raise what `draw` does.

    They are of questions, cross-tables, audits, regressions, other results, groups and versions.
    """
    with speaking(basis.choices.language):
        return [
            Figure(f"{number:02}-{key}", chart, table, draw)
            for number, (key, chart, table) in enumerate(_charts(basis, results), start=1)
        ]


def _charts(
    basis: Basis, results: Mapping[str, Any]
) -> Iterator[tuple[str, Chart | None, ResultTable]]:
    about = {
        "survey": basis.published.name,
        "version": basis.published.version,
        "digest": basis.published.digest,
        "release": basis.facts["release"],
        "released_at": basis.facts["released_at"],
        # A report says neither: it is about one release, whatever follows.
        "next_release": None,
        "pending": None,
    }
    estimates, confidence = results["estimates"], basis.choices.confidence
    words = SurveyWords(basis.published, basis.choices.language)
    names, in_words = words.questions, words.results(results)
    interval = ESTIMATOR_TERMS[basis.choices.estimator].no_interval is None
    foot = foot_of(
        basis.published, basis.n, confidence, interval=interval, title=words.wording.title
    )
    for attribute, told_rows in zip(
        estimates["attributes"], in_words["estimates"]["attributes"], strict=True
    ):
        name, question = attribute["name"], names[attribute["name"]]
        table = table_of("estimates", {**about, **estimates, "attributes": [attribute]})
        numbers = numbers_chart(
            basis.published, name, question, results, confidence=confidence, foot=foot
        )
        if numbers is not None:
            yield name, numbers, table
            continue
        rows = told_rows["categories"]
        asked = basis.published.attribute(attribute["name"])
        first = headline_row(asked, attribute["categories"])
        first = {**first, "category": words.answer(asked.name, first["category"])}
        chart = estimates_chart(
            question, rows, confidence=confidence, total=len(rows), main=first["category"]
        )
        if part_is_noisy(estimates["verdict"], attribute["name"]):
            chart = as_too_noisy(chart)
        title = of_share(first["category"], first["frequency"], first["lower"], first["upper"])
        yield name, told(chart, title, question, *foot), table
    for cross, told_cross in zip(results["cross_tables"], in_words["cross_tables"], strict=True):
        a, b = names[cross["a"]], names[cross["b"]]
        chart = cross_table_chart(a, b, told_cross["cells"], confidence=confidence)
        if part_is_noisy(cross["verdict"], "cells"):
            chart = as_too_noisy(chart)
        about_both = say("{rows} By: {columns}", rows=a, columns=b)
        chart = told(chart, say("Shares of both answers"), about_both, *foot)
        table = table_of("cross-table", {**about, **cross})
        yield f"{cross['a']}-by-{cross['b']}", chart, table
    for number, audit in enumerate(results["audits"], start=1):
        document = audit["result"]
        table = table_of("fairness", {**about, **document})
        yield f"audit-{number}", audit_chart(document), table
    for number, document in enumerate(results.get("regressions", ()), start=1):
        told_slopes = words.regression(document)
        drawn = regression_chart(told_slopes, names) if slopes_of(document) else None
        yield f"regression-{number}", drawn, table_of("regression", {**about, **document})
    for query, found in zip(basis.choices.results, results.get("results", ()), strict=True):
        yield query.name, None, table_of(query.file_name, {**about, **found["result"]})
    for groups in filter(None, results["groups"]):
        shares = groups["shares"]
        chart = chart_of_groups(groups, words, foot)
        table = table_of(query_that_serves(SHARES_IN_GROUPS).file_name, {**about, **shares})
        yield f"{shares['of']}-in-groups-of-{shares['given']}", chart, table
    for name, trend in trends_of(basis, results, foot)[0]:
        yield f"{name}-over-versions", trend.chart, trend.table


def audit_chart(audit: AuditDocument) -> Chart | None:
    """Return the chart of an audit's metrics, ratios apart from differences; None without any."""
    panels: dict[float, list[Metric]] = {}
    found = []
    several = audit.get("groups")
    pairs: list[tuple[str | None, dict[str, MetricDocument]]] = (
        [(None, audit["metrics"])]
        if (several is None)
        else [(pair["group"], pair["metrics"]) for pair in several]
    )
    for group, metrics in pairs:
        for name, number in metrics.items():
            if name not in METRICS or "conclusion" not in number:
                continue
            label = name if group is None else f"{name}, {group}"
            row: Metric = {
                "label": label,
                "value": number["value"],
                "lower": number["lower"],
                "upper": number["upper"],
                "conclusion": number["conclusion"],
            }
            panels.setdefault(METRICS[name].fair, []).append(row)
            found += [isolated(label)] if number["conclusion"] == "disparity" else []
    if not panels:
        return None
    sentence = say(
        "Metrics of the groups with their {level} sets; the line is where groups are treated "
        "alike. A disparity is concluded for {metrics}.",
        level=level(audit["confidence"]),
        metrics=", ".join(found) or say("none of these metrics"),
    )
    return fairness_chart(sorted(panels.items()), sentence)


def _in_light(tag: re.Match[str]) -> str:
    text = tag[0]
    for token, colour in LIGHT.items():
        text = text.replace(token, colour)
    return text
