"""Fairness: ask for an audit from records alone, watch it, look at those that are kept, delete."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flask import Response, request

from hushpoll_server.charts.fairness import fairness_chart
from hushpoll_server.charts.figures import fixed
from hushpoll_server.charts.rows import Metric
from hushpoll_server.charts.specifications import Chart, told
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.forms import ask_for, given_in_form, learners_in_form
from hushpoll_server.dashboard.frame import (
    choice,
    member,
    page,
)
from hushpoll_server.dashboard.jobs import delete_result
from hushpoll_server.dashboard.questions import labels_of
from hushpoll_server.dashboard.surveys import lead_by_words, of_survey, why_not_shown
from hushpoll_server.dashboard.version_pages import back_to, note_act, note_look, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, QUEUED, RUNNING, JobRow
from hushpoll_shared.group_metrics import METRICS, RATES, GroupMetric
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import isolated
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.wire.documents.audits import AuditDocument, MetricDocument
from hushpoll_shared.wire.documents.kept_results import AuditEntry

INPUTS: Final = {
    "dropped": "nothing of it",
    "each-value": "each of its values in turn",
}
TOGETHER: Final = {
    "each": "each interval by itself",
    "simultaneous": "all intervals of a metric hold together",
    "discoveries": "few false discoveries",
}


@shows("/fairness", Role.READER)
def fairness(row: VersionRow) -> Response:
    """List the audits of a version; an analyst has a form to start one."""
    parts = services()
    audits = [_without_what_is_withheld(row, one) for one in parts.audits.history(row)]
    note_look(row, "audits")
    return page(
        "fairness.html",
        **of_survey(row, "fairness"),
        audits=audits,
        goes_on=sum(audit["job"]["state"] in (QUEUED, RUNNING) for audit in audits),
        metrics=METRICS,
        together=TOGETHER,
        labels=labels_of(services().surveys.published(row)),
        **(_form(row) if member().may(row.name, Role.ANALYST) else {"form": None}),
    )


@takes("/fairness", Role.ANALYST, fairness)
def ask_for_audit(row: VersionRow) -> Response:
    """Ask for an audit, which a worker does."""
    ask_for(row, "fairness", _chosen(row))
    return back_to(row, "fairness")


@shows("/fairness/<audit_id>", Role.READER)
def audit(row: VersionRow, audit_id: str) -> Response:
    """Show what an audit found, and what follows from it."""
    parts = services()
    job, report, figure = _shown(row, audit_id)
    note_look(row, "audits")
    return page(
        "audit.html",
        **of_survey(row, "fairness"),
        job=parts.jobs.describe(job),
        report=report,
        figure=figure,
        rates=rate_lines(report),
        metrics=METRICS,
        model_input=INPUTS,
        svg=inline(figure.chart, "shows") if figure.drawn else None,
    )


@shows("/fairness/<audit_id>/chart.<form>", Role.READER)
def audit_file(row: VersionRow, audit_id: str, form: str) -> Response:
    """Return the chart of an audit, or all its numbers, as a file."""
    job, report, figure = _shown(row, audit_id)
    note_act(row, "fetched-fairness", job.id)
    chart = figure.chart if figure.drawn else None
    what, table = f"fairness-{job.id[:8]}", table_of("fairness", report)
    return download(row, form, what, chart, table, "this audit gives no number that could be drawn")


@takes("/fairness/<audit_id>/delete", Role.ANALYST)
def delete_audit(row: VersionRow, audit_id: str) -> Response:
    """Delete an audit that has ended: the user's own, or any if the user is an admin of it."""
    return delete_result(services().audits, row, audit_id, page="fairness")


def _shown(row: VersionRow, audit_id: str) -> tuple[JobRow, AuditDocument, Figure]:
    """Return an audit, its report, and the figure that the address chooses."""
    job = services().audits.of_version(row, audit_id)
    report = services().audits.report(job)
    withheld = _why_withheld(row, report, report["protected"]["attribute"])
    if withheld:
        raise Refused("forbidden", withheld)
    metric = choice("metric", METRICS, "SPD") if "groups" in report else None
    return job, report, figure_of(report, metric)


def _why_withheld(row: VersionRow, found: Mapping[str, object], attribute: str) -> str | None:
    """Return why an audit of the groups of an attribute is not shown to the user."""
    target = services().surveys.published(row).target
    names = {attribute} if target is None else {attribute, target.name}
    return why_not_shown(row, found, names)


class ShownAudit(AuditEntry):
    """An audit of the list, and why its numbers are not shown."""

    withheld: str | None


def _without_what_is_withheld(row: VersionRow, entry: AuditEntry) -> ShownAudit:
    """Return an entry of the list of audits, without numbers that the user may not see."""
    audit, withheld = entry.get("audit"), None
    if audit is not None:
        withheld = _why_withheld(row, audit, audit["attribute"])
    return {"job": entry["job"], "audit": None if withheld else audit, "withheld": withheld}


def _form(row: VersionRow) -> dict[str, Any]:
    """Return what the form of an audit needs; model and groups are chosen in the address."""
    found = learners_in_form(row)
    if (form := found["form"]) is None:
        return found
    published = services().surveys.published(row)
    models = {
        id: f"{of.get('learner') or 'lightgbm'}, {of.get('encoding') or 'indicator'}, {id[:8]}"
        for id, of in _models(row).items()
    }
    target = None if published.target is None else published.target.name
    own = published.protected
    # Whose groups may be compared: those of the manifest, or the categories of an attribute.
    attributes = {
        attribute.name: list(attribute.categories)
        for attribute in published.attributes
        if attribute.name != target and len(attribute.categories) > 1
    }
    named = (*(() if own is None else ("",)), *attributes)
    labels = labels_of(published)
    by_groups = {name: labels[name] for name in attributes}
    lead_by_words({"groups": by_groups})
    groups = choice("groups", named) if named else ""
    form |= {
        "runnable": {
            one["name"]: one["label"]
            for one in form["learners"]
            if one["reason"] is None and not one["private"]
        },
        "models": [("", "choose below"), *models.items()] if models else [],
        "model": choice("model", ("", *models)),
        "protected": own,
        "groups": groups,
        "by_groups": by_groups,
        "references": attributes.get(groups, []),
        "privileged": own.privileged if own is not None and own.attribute == groups else (),
        "inputs": INPUTS,
    }
    return found


def _models(row: VersionRow) -> dict[str, JsonObject]:
    """Return the parameters of the trainings whose settings an audit can take over."""
    return {
        job.id: json.loads(job.parameters)
        for job in services().jobs.newest_of(row, "train")
        if job.state == DONE
    }


def _chosen(row: VersionRow) -> JsonMembers:
    """Return what the form asks for, as a request of the API says it."""
    chosen = given_in_form("fairness")
    if model := request.form.get("model"):
        settings = _models(row).get(model)
        if settings is None:
            raise Refused("not-found", f"there is no model {model[:32]!r} of this version")
        chosen |= {
            name: settings[name]
            for name in ("learner", "encoding", "parameters")
            if name in settings
        }
    return chosen


CANNOT: Final = "cannot conclude"
DISPARITY: Final = "disparity"
NONE_FOUND: Final = "no disparity found"
OF_ALL: Final = "largest of all groups"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number of an audit as a table shows it."""

    label: str
    formula: str
    value: str
    limits: str
    conclusion: str
    found: str
    fakes: str
    turning: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The chart of an audit, the lines behind it, and its sentences.

    ``metric`` is the one shown of several groups, None where all of two groups are; ``title`` is
    the finding.
    """

    title: str
    chart: Chart
    drawn: bool
    lines: Sequence[Line]
    conclusions: Sequence[str]
    withheld: Sequence[str]
    metric: str | None


def figure_of(report: AuditDocument, metric: str | None) -> Figure:
    """Return the figure of an audit; of one of several groups, that of a metric."""
    about = report["protected"]
    if metric is None:
        numbers = [(METRICS[name], titled(METRICS[name]), one) for name, one in _known(report)]
        privileged, other = (
            isolated(_either(about[side])) for side in ("privileged", "unprivileged")
        )
        pairs = [(*number, privileged, other) for number in numbers]
        sentence = _of_metrics(report)
    else:
        shown, reference = METRICS[metric], isolated(_either(about["reference"]))
        pairs = [
            (shown, group["group"], group["metrics"][metric], reference, isolated(group["group"]))
            for group in report["groups"]
            if metric in group["metrics"]
        ]
        sentence = _of_groups(shown, pairs, report, reference)
    withheld = dict.fromkeys(one["reason"] for _, _, one, *_ in pairs if "withheld" in one)
    pairs = [pair for pair in pairs if "withheld" not in pair[2]]
    by_fair: dict[float, list[Metric]] = {}
    for compared, label, number, *_ in pairs:
        name = label if metric is not None else titled(compared)
        by_fair.setdefault(compared.fair, []).append(_drawn(name, number))
    largest = report.get("largest", {}).get(metric or "")
    lines = [_line(compared, label, number) for compared, label, number, *_ in pairs]
    if metric is not None and largest is not None:
        by_fair.setdefault(METRICS[metric].fair, []).append(_drawn(OF_ALL, largest))
        lines.append(_line(METRICS[metric], OF_ALL, largest))
    title = _title(pairs)
    chart = fairness_chart(list(by_fair.items()), sentence)
    foot = (
        "Dot: best estimate. Band: the values that these reports leave open. Line: groups are "
        "treated alike.",
        *((f"n = {report['n']:,} records.",) if "n" in report else ()),
    )
    return Figure(
        title=title,
        chart=told(chart, title, _subject(about), *foot),
        drawn=bool(by_fair),
        lines=lines,
        conclusions=[
            _conclusion(compared, number, privileged, other)
            for compared, _, number, privileged, other in pairs
        ],
        withheld=list(withheld),
        metric=metric,
    )


def titled(metric: GroupMetric) -> str:
    """Return the words of a metric as they begin a line, with its name in tables."""
    return f"{metric.title[0].upper()}{metric.title[1:]} ({metric.name})"


def _title(pairs: Sequence[tuple[Any, ...]]) -> str:
    """Return what is concluded of all metrics, or of all groups, in a few words."""
    if not pairs:
        return "No metric could be computed"
    by_conclusion: dict[str, list[str]] = {}
    for metric, label, number, *_ in pairs:
        name = label if len({pair[0].name for pair in pairs}) == 1 else metric.title
        by_conclusion.setdefault(number.get("conclusion", ""), []).append(name)
    found = by_conclusion.get(DISPARITY, [])
    if found:
        shown = ", ".join(map(isolated, found[:3]))
        rest = f" and {len(found) - 3} more" if len(found) > 3 else ""
        return f"Groups are not treated alike: {shown}{rest}"
    if NONE_FOUND in by_conclusion:
        return "No disparity was found"
    return "Too noisy to tell whether groups are treated alike"


def _subject(about: Mapping[str, Any]) -> str:
    sides = [about[side] for side in ("unprivileged", "privileged") if about.get(side)]
    groups = " and ".join(_either(side) for side in sides) or _either(about["reference"])
    return f"Groups by {about['attribute']}: {groups}" if "attribute" in about else groups


def rate_lines(report: AuditDocument) -> list[tuple[str, str, str, str]]:
    """Return group, rate, estimate and interval of each rate and share of each group."""
    about = report["protected"]
    several = report.get("groups")
    if several is None:
        pairs = [(_either(about["unprivileged"]), report["shares"], report["rates"])]
    else:
        pairs = [(pair["group"], pair["shares"], pair["rates"]) for pair in several]
    privileged = _either(about["reference" if several else "privileged"])
    lines = []
    for place, (other, shares, rates) in enumerate(pairs):
        sides = {"0": ("unprivileged", other)}
        if not place:
            sides = {"1": ("privileged", privileged)} | sides
        for side, (share, group) in sides.items():
            lines.append((group, "share of the people", *_texts(shares[share])))
            for name, rate in RATES.items():
                number = rates.get(f"{name}{side}")
                if number is not None and "withheld" not in number:
                    lines.append((group, rate.title, *_texts(number)))
    return lines


def _known(report: AuditDocument) -> Iterator[tuple[str, MetricDocument]]:
    """Yield the metrics of an audit, without those of a newer worker."""
    yield from ((name, one) for name, one in report["metrics"].items() if name in METRICS)


def _drawn(label: str, number: MetricDocument) -> Metric:
    return {
        "label": label,
        "conclusion": number.get("conclusion", ""),
        "value": number["value"],
        "lower": number["lower"],
        "upper": number["upper"],
    }


def _line(metric: GroupMetric, label: str, number: MetricDocument) -> Line:
    value, limits = _texts(number)
    found = ""
    chance = number.get("chance_to_conclude")
    if chance is not None:
        least = number["smallest_detectable"]
        found = "none, however large" if least is None else f"{least:.3g}"
        if number["seldom_concludes"]:
            found += f"; concludes in {100 * chance:.0f} % of surveys"
    fakes = number.get("poisoning")
    return Line(
        label=label,
        formula=metric.label if label == titled(metric) else "",
        value=value,
        limits=limits,
        conclusion=number.get("conclusion", ""),
        found=found,
        fakes="" if fakes is None else f"{_end(fakes['lowest'])} to {_end(fakes['highest'])}",
        turning=_turning(metric, number),
    )


def _turning(metric: GroupMetric, number: MetricDocument) -> str:
    """Say how many fakes may have made the conclusion; nothing where that is not known."""
    fakes, conclusion = number.get("poisoning"), number.get("conclusion")
    # An audit of an earlier release has no share.
    if fakes is None or "turning_share" not in fakes or conclusion not in (DISPARITY, NONE_FOUND):
        return ""
    if fakes["turning_share"] is not None:
        return f"{100 * fakes['turning_share']:.3g} %"
    return "" if metric.is_largest and conclusion == NONE_FOUND else "more than 50 %"


def _texts(number: MetricDocument) -> tuple[str, str]:
    value = "unknown" if number["value"] is None else _number(number["value"])
    if number["lower"] is None and number["upper"] is None:
        return value, "no bound"
    return value, f"{_end(number['lower'])} to {_end(number['upper'])}"


def _end(value: float | None) -> str:
    return "no bound" if value is None else _number(value)


def _opposite(value: float | None) -> float | None:
    return None if value is None else -value


def _number(value: float) -> str:
    return fixed(value, 3)


def _either(categories: Sequence[str]) -> str:
    return " or ".join(categories)


def _of_metrics(report: AuditDocument) -> str:
    """Say in a sentence what the chart of two groups shows."""
    by_conclusion: dict[str, list[str]] = {}
    for name, number in _known(report):
        by_conclusion.setdefault(number.get("conclusion", ""), []).append(METRICS[name].title)
    words = {
        DISPARITY: "The interval leaves out the fair value, so there is a disparity, of ",
        NONE_FOUND: "The interval holds the fair value, so no disparity was found, of ",
        CANNOT: "The interval allows almost anything, so nothing can be concluded, of ",
    }
    sentences = [
        f"{text}{', '.join(by_conclusion[key])}."
        for key, text in words.items()
        if key in by_conclusion
    ]
    return " ".join(sentences) or "No metric could be computed."


def _of_groups(
    metric: GroupMetric,
    pairs: Sequence[tuple[Any, ...]],
    report: AuditDocument,
    reference: str,
) -> str:
    """Say in a sentence what the chart of several groups shows."""
    counts = {
        key: sum(pair[2].get("conclusion") == key for pair in pairs)
        for key in (DISPARITY, NONE_FOUND, CANNOT)
    }
    hold = (
        "together" if report.get("together") == "simultaneous" else "each by itself, so some miss"
    )
    return (
        f"{metric.title.capitalize()} of {len(pairs)} groups, each beside {reference}: a disparity "
        f"in {counts[DISPARITY]}, none found in {counts[NONE_FOUND]}, and nothing to conclude in "
        f"{counts[CANNOT]}. The intervals hold {hold}."
    )


def _conclusion(metric: GroupMetric, number: MetricDocument, privileged: str, other: str) -> str:
    """Say what may be concluded from a metric, and what may not."""
    conclusion, least = number["conclusion"], number["smallest_detectable"]
    name = titled(metric)
    if conclusion == CANNOT:
        return (
            f"{name}: these reports cannot say whether {privileged} and {other} differ in "
            f"{_rates(metric)}. They allow "
            + ("every value" if number["bound"] == "no bound" else "values without a bound")
            + ", because one of the groups, or its part that counts here, may be empty as far as "
            "they tell. More reports or a larger epsilon would say more; that there is no "
            "disparity does not follow."
        )
    if conclusion == NONE_FOUND:
        finds = "none, however large" if least is None else f"those from {least:.3g} on"
        if least is not None and metric.is_ratio:
            finds = f"a ratio of {least:.3g} and those farther from 1"
        return (
            f"{name}: no disparity was found between {privileged} and {other} in {_rates(metric)}. "
            "This does not show that there is none. Of true disparities, such a survey finds "
            f"{finds}, four times in five."
        )
    lower, upper = number["lower"], number["upper"]
    if metric.is_ratio:
        return (
            f"{name}: the {metric.meaning}, {other} over {privileged}, is {_end(lower)} to "
            f"{_end(upper)}, and not 1."
        )
    if metric.is_largest:
        return (
            f"{name}: {privileged} and {other} differ by at least {_end(lower)} in "
            f"{_rates(metric)}."
        )
    above = lower is not None and lower > 0
    low, high = (lower, upper) if above else (_opposite(upper), _opposite(lower))
    return (
        f"{name}: the {_rates(metric)} differ. That of {privileged} is "
        f"{'larger' if above else 'smaller'} than that of {other}, by {_end(low)} to {_end(high)}."
    )


def _rates(metric: GroupMetric) -> str:
    return " or ".join(rate.plural for rate in metric.rates)
