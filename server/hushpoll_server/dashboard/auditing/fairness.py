"""Fairness: ask for an audit from records alone, watch it, look at those that are kept, delete."""

from __future__ import annotations

import json
from typing import Any, Final

from flask import Response, request, url_for

from hushpoll_server.dashboard.auditing.fairness_figures import Figure, figure_of, rate_lines
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.forms.asking import ask_for, given_in_form, learners_in_form
from hushpoll_server.dashboard.frame import (
    CONFIDENCES,
    choice,
    member,
    page,
    see,
)
from hushpoll_server.dashboard.kept_results import delete_result
from hushpoll_server.dashboard.select_alls import labels_of
from hushpoll_server.dashboard.surveys import lead_by_words, may_export, of_survey
from hushpoll_server.dashboard.version_pages import shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, QUEUED, RUNNING, JobRow
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.wire.audit_documents import AuditDocument
from hushpoll_shared.wire.documents import AuditEntry

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
    parts.actions.looked(member().actor, "audits", row.name, row.version)
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
    return see(url_for("dashboard.fairness", name=row.name, version=row.version))


@shows("/fairness/<audit_id>", Role.READER)
def audit(row: VersionRow, audit_id: str) -> Response:
    """Show what an audit found, and what follows from it."""
    parts = services()
    job, report, figure = _shown(row, audit_id)
    parts.actions.looked(member().actor, "audits", row.name, row.version)
    return page(
        "audit.html",
        **of_survey(row, "fairness"),
        job=parts.jobs.describe(job),
        report=report,
        figure=figure,
        rates=rate_lines(report),
        metrics=METRICS,
        inputs=INPUTS,
        svg=inline(figure.chart, "shows") if figure.drawn else None,
    )


@shows("/fairness/<audit_id>/chart.<form>", Role.READER)
def audit_file(row: VersionRow, audit_id: str, form: str) -> Response:
    """Return the chart of an audit, or all its numbers, as a file."""
    parts = services()
    job, report, figure = _shown(row, audit_id)
    parts.actions.record(
        member().actor, "fetched-fairness", survey=row.name, version=row.version, subject=job.id
    )
    if not figure.drawn and form in ("svg", "png", "json"):
        raise Refused("not-found", "this audit gives no number that could be drawn")
    table = table_of("fairness", report)
    file_name = f"{row.name}-{row.version}-fairness-{job.id[:8]}"
    return download(form, file_name, figure.chart, table, parts.surveys.published(row))


@takes("/fairness/<audit_id>/delete", Role.ANALYST)
def delete_audit(row: VersionRow, audit_id: str) -> Response:
    """Delete an audit that has ended: the user's own, or any if the user is an admin of it."""
    return delete_result(services().audits, row, audit_id, page="fairness")


def _shown(row: VersionRow, audit_id: str) -> tuple[JobRow, AuditDocument, Figure]:
    """Return an audit, its report, and the figure that the address chooses."""
    job = services().audits.of_version(row, audit_id)
    report = services().audits.report(job)
    withheld = _why_withheld(row, report["protected"]["attribute"], report["n"])
    if withheld:
        raise Refused("forbidden", withheld)
    metric = choice("metric", METRICS, "SPD") if "groups" in report else None
    return job, report, figure_of(report, metric)


def _why_withheld(row: VersionRow, attribute: str, n: int) -> str | None:
    """Return why an audit of the groups of an attribute is not shown to the user."""
    parts = services()
    groups = parts.analysis.seen(row, may_export=may_export(row))
    if groups is None:
        return None
    target = parts.surveys.published(row).target
    names = {attribute} if target is None else {attribute, target.name}
    return groups.why_not_kept(names, complete=n == parts.releases.reports(row))


class ShownAudit(AuditEntry):
    """An audit of the list, and why its numbers are not shown."""

    withheld: str | None


def _without_what_is_withheld(row: VersionRow, entry: AuditEntry) -> ShownAudit:
    """Return an entry of the list of audits, without numbers that the user may not see."""
    audit, withheld = entry.get("audit"), None
    if audit is not None:
        withheld = _why_withheld(row, audit["attribute"], audit["n"])
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
        "confidences": CONFIDENCES,
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
