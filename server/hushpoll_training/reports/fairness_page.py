"""A fairness report as HTML: comparisons drawn and tabled, group rates, and what is withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hushpoll_shared.group_metrics import METRICS, RATES
from hushpoll_training.reports.forest import Mark, forest
from hushpoll_training.reports.html_page import page, table


def fairness_page(title: str, introduction: str, reports: Sequence[Mapping[str, Any]]) -> str:
    """Return reports, as :meth:`FairnessReport.to_dict` gives them, as one page."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(introduction)}</p>"]
    for report in reports:
        body += [f"<h2>By {escape(' and '.join(report['attributes']))}</h2>", *sections([report])]
    return page(title, body)


def sections(reports: Sequence[Mapping[str, Any]], names: Sequence[str] = ("",)) -> list[str]:
    """Return the HTML of one grouping, for one model or for two side by side.

    Parameters
    ----------
    reports : sequence of mapping
        Of the same grouping of the same rows, one per model.
    names : sequence of str
        Of the models; the first is drawn as a circle, the second as a square.
    """
    first = reports[0]
    level = f"{100 * first['confidence']:g} %"
    parts = [
        f"<p>Group 1, the reference, is <strong>{escape(first['reference'])}</strong> "
        f"({escape(first['reference_is'])}); each other group is group 0 in turn. "
        f"{first['n']:,} rows, {first['outside']:,} in no group. A rate of fewer than "
        f"{first['smallest_group']} rows is not shown.</p>"
    ]
    if first["too_small"]:
        listed = "; ".join(escape(name) for name in first["too_small"])
        parts.append(
            f'<p class="note"><strong>Too small to be measured, in part or altogether:</strong> '
            f"{listed}. That nothing is shown of them does not mean that they are treated alike."
            "</p>"
        )
    # a card that was made before has fewer metrics
    for metric in first["comparisons"][0]["metrics"] if first["comparisons"] else ():
        parts += _metric(metric, reports, names, level)
    parts.append(_rates(reports, names, level))
    if len(first["groups"]) > 2:
        parts.append(_spreads(reports, names, level))
    if "intervals" in first:  # a card that was made before has none
        parts.append(f'<p class="note">{escape(first["intervals"])}</p>')
    return parts


def meaning(metric: str) -> str:
    """Return formula, meaning and fair value of a metric."""
    of = METRICS[metric]
    return f"{of.formula}, {of.meaning}; alike at {of.fair:g}"


def _metric(
    metric: str,
    reports: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    level: str,
) -> list[str]:
    rows, marks = [], []
    for at, one in enumerate(reports[0]["comparisons"]):
        for name, report in zip(names, reports, strict=True):
            found = report["comparisons"][at]["metrics"][metric]
            label = escape(one["group"]) + (f", {escape(name)}" if name else "")
            if "withheld" in found:
                rows.append([_why(label, found), "not shown", "", "", ""])
                continue
            closed, boot = found["closed_form"], found["bootstrap"]
            rows.append(
                [
                    label,
                    f"{found['value']:.4f}",
                    f"{found['standard_error']:.4f}",
                    _range(closed),
                    "none" if "withheld" in boot else _range(boot),
                ]
            )
            if closed["upper"] is not None:
                kind = "ldp" if name == names[0] else "baseline"
                marks.append(
                    Mark(one["group"], kind, found["value"], closed["lower"], closed["upper"])
                )
    if not rows:
        return []
    drawing = (
        [forest(f"{metric} with {level} intervals", marks, fair=METRICS[metric].fair)]
        if marks
        else []
    )
    headings = ["group 0", metric, "std. error", f"{level} interval", "bootstrap"]
    return [
        f"<h3>{metric}</h3><p class='soft'>{escape(meaning(metric))}</p>",
        *drawing,
        table(f"{metric} of each group {_by(reports)}", headings, rows, text=(0,)),
    ]


def _rates(reports: Sequence[Mapping[str, Any]], names: Sequence[str], level: str) -> str:
    rows = []
    for at, group in enumerate(reports[0]["groups"]):
        for name, report in zip(names, reports, strict=True):
            label = escape(group["group"]) + (f", {escape(name)}" if name else "")
            rates = report["groups"][at]["rates"].values()
            rows.append([label, f"{group['n']:,}", *(_rate(found) for found in rates)])
    shown = reports[0]["groups"][0]["rates"]
    headings = ["group", "rows", *(f"{name}, {RATES[name].title}" for name in shown)]
    return "<h3>Rates within the groups</h3>" + table(
        f"Rates {_by(reports)}, with {level} intervals", headings, rows, text=(0,)
    )


def _spreads(reports: Sequence[Mapping[str, Any]], names: Sequence[str], level: str) -> str:
    rows = []
    meanings = {metric.spread: metric.spread_meaning for metric in METRICS.values()}
    for name in reports[0]["spreads"]:
        for model, report in zip(names, reports, strict=True):
            found = report["spreads"][name]
            label = escape(meanings[name]) + (f", {escape(model)}" if model else "")
            if "withheld" in found:
                rows.append([_why(label, found), "not shown", "", ""])
                continue
            between = f"{escape(found['lowest'])} and {escape(found['highest'])}"
            rows.append([label, f"{found['value']:.4f}", _range(found["closed_form"]), between])
    return "<h3>Widest spread over all groups</h3>" + table(
        f"Spreads {_by(reports)}; intervals cover at least {level} of the time, simultaneously "
        "over all pairs of groups",
        ["spread", "value", f"{level} interval", "between"],
        rows,
        text=(0, 3),
    )


def _by(reports: Sequence[Mapping[str, Any]]) -> str:
    # a page may hold several groupings, and its regions need names of their own
    return f"by {' and '.join(reports[0]['attributes'])}"


def _why(label: str, found: Mapping[str, Any]) -> str:
    return f'{label}<br><span class="why">{escape(found["reason"])}</span>'


def _rate(found: Mapping[str, Any]) -> str:
    if "withheld" in found:
        return f'<span class="why">{escape(found["reason"].split(" has ", 1)[-1])}</span>'
    return f"{found['value']:.3f}<br>{_range(found['closed_form'], 3)}"


def _range(limits: Mapping[str, Any], digits: int = 4) -> str:
    upper = "no bound" if limits["upper"] is None else f"{limits['upper']:.{digits}f}"
    return f'<span class="range">{limits["lower"]:.{digits}f} to {upper}</span>'
