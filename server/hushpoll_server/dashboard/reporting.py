"""A survey's results to take away or to publish, and what it is on paper: sheet and codebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from flask import Response, g, request
from werkzeug.datastructures import MultiDict

from hushpoll_protocols.errors import HushpollError, InvalidParameter, MissingExtra
from hushpoll_server.dashboard.estimates import ESTIMATORS
from hushpoll_server.dashboard.frame import (
    finished,
    member,
    page,
)
from hushpoll_server.dashboard.questions import labels_of, named_by, names_of
from hushpoll_server.dashboard.regressions import shown_of
from hushpoll_server.dashboard.surveys import NOTHING_YET, may_export, of_survey, seen
from hushpoll_server.dashboard.version_pages import back_to, note_act, note_look, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.naming import in_texts
from hushpoll_server.survey_reports.files.pdf import NotPrinted
from hushpoll_server.survey_reports.files.report import FORMS
from hushpoll_server.survey_reports.markup.page import style_hash
from hushpoll_server.survey_reports.sheets import codebook as codebooks
from hushpoll_server.survey_reports.sheets import privacy_sheet as privacy_sheets
from hushpoll_server.translations.speech import ENGLISH, LANGUAGE_NAMES
from hushpoll_shared.jobs.files import MOST_FIGURES_AT_ONCE
from hushpoll_shared.querying.registry import query_at
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.option_texts import question_names

CROSS_TABLES: Final = 3
"""Pairs that the form has room for; the address takes more."""

_FORMS: Final = {
    "html": "HTML, to look at and to print",
    "pdf": "PDF",
    "bundle": "bundle, from which anyone gets the same figures",
}
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        f"style-src {style_hash()}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@shows("/report", Role.READER)
def report(row: VersionRow) -> Response:
    """Let the user choose what a report shows; an editor may publish it once all is over."""
    parts = services()
    published = seen(row)
    refusal: Refused | None = None
    try:
        parts.analysis.release(row)
    except Refused as refused:
        if refused.code not in NOTHING_YET:
            raise
        refusal = refused
    try:
        parts.public_results.require_over(row)
        not_over = None
    except Refused as refused:
        not_over = refused.detail
    history = parts.public_results.history(row)
    standing = next((one for one in history if one["taken_back_at"] is None), None)
    given = request.form if "refusal" in g else request.args
    chosen = _chosen(given, labels_of(published))
    runs = parts.surveys.state(row).value in ("open", "closing")

    def number_of(names: Sequence[str]) -> str:
        number = len(question_names(published, names))
        return f"{number} question{'' if number == 1 else 's'}"

    shows = (not_over is None or runs) and refusal is None
    return page(
        "report.html",
        **of_survey(row, "report"),
        refusal=refusal,
        not_over=not_over,
        questions=labels_of(published),
        number_of=number_of,
        runs=runs,
        randomised={one.name for one in published.perturbed},
        chosen=chosen,
        results=_results(given.getlist("result"), names_of(published)),
        regressions=[one for one in shown_of(row) if one["regression"]],
        ticked=request.args.getlist("regression"),
        asked=bool(given),
        language=given.get("language", ENGLISH),
        earlier=any(
            one.name == row.name and one.version < row.version for one in parts.surveys.all()
        ),
        estimators=ESTIMATORS,
        forms=_FORMS,
        languages=LANGUAGE_NAMES,
        pairs=range(CROSS_TABLES),
        most=MOST_FIGURES_AT_ONCE,
        standing=standing,
        warned=_warnings(row, standing) if standing and shows else [],
        would_warn=_warnings(row, chosen) if shows else [],
        history=[one for one in history if one["taken_back_at"] is not None],
        root_of_results=request.host_url.rstrip("/") + request.script_root,
    )


@shows("/report-file", Role.READER)
def report_file(row: VersionRow) -> Response:
    """Give a report as a file; HTML is shown in the browser."""
    parts = services()
    form = request.args.get("format", "html")
    if form not in FORMS:
        raise Refused(
            "invalid-request",
            f"format is {show(form)} in this address; choose one of {', '.join(FORMS)}",
            field="format",
        )
    results = request.args.getlist("result")
    chosen, export = _chosen(request.args, labels_of(seen(row))), may_export(row)
    choices = parts.survey_reports.choices(
        row,
        may_export=export,
        **chosen,
        results=results,
        regressions=request.args.getlist("regression"),
        language=request.args.get("language", ENGLISH),
    )
    file = parts.survey_reports.file(row, choices, form, may_export=export)
    note_look(row, "report")
    answer = finished(Response(file.body, mimetype=file.media_type))
    if form == "html":
        answer.headers["Content-Security-Policy"] = _POLICY
    else:
        answer.headers["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return answer


@takes("/public-results", Role.EDITOR, report)
def publish_results(row: VersionRow) -> Response:
    """Publish chosen results to everybody, of a survey that still runs as results so far."""
    parts = services()
    if not request.form.get("confirm"):
        raise Refused(
            "invalid-request",
            "the results were not published, because the box was not ticked; tick it to publish",
            field="confirm",
        )
    everything = bool(request.form.get("all"))
    if not everything and not request.form.getlist("attribute"):
        raise Refused(
            "invalid-request",
            "the results were not published, because no question was chosen; choose one or more",
            field="attribute",
        )
    published = seen(row)
    so_far = bool(request.form.get("so_far"))
    chosen = _chosen(request.form, labels_of(published))
    if everything:
        # No name stands for all that may be public; of a survey that runs, the randomised ones.
        chosen["attributes"] = [one.name for one in published.perturbed] if so_far else []
    choices = parts.survey_reports.choices(row, may_export=False, **chosen)
    parts.public_results.publish(row, choices, actor=member().actor, so_far=so_far)
    note_act(row, "published-results")
    return back_to(row, "report", anchor="public")


@takes("/public-results/take-back", Role.EDITOR)
def take_results_back(row: VersionRow) -> Response:
    """End the publication of results."""
    parts = services()
    parts.public_results.take_back(row)
    note_act(row, "took-results-back")
    return back_to(row, "report", anchor="public")


def _warnings(row: VersionRow, choices: Mapping[str, object]) -> list[str]:
    """Return the small groups that results show, or would; none where that cannot be told now."""
    reports = services().survey_reports
    shown = {name: choices[name] for name in ("attributes", "cross_tables")}
    try:
        return reports.warnings(row, reports.choices(row, may_export=False, **shown))
    except HushpollError:
        return []


def _chosen(given: MultiDict[str, str], questions: Mapping[str, str]) -> JsonMembers:
    """Return what a form or an address chooses, as ``Choices.of`` takes it.

    A field with search has the words of a question.
    """
    crosses = [
        (named_by(a, questions), named_by(b, questions))
        for a, b in zip_longest(given.getlist("rows"), given.getlist("columns"), fillvalue="")
        if a or b
    ]
    return {
        "attributes": given.getlist("attribute"),
        "cross_tables": crosses,
        "estimator": given.get("estimator", ESTIMATORS[0]),
        "confidence": _number(given),
        # A box that is not ticked is not sent; without any choice all is shown.
        "fairness": bool(given.get("fairness")) or "estimator" not in given,
        "trend": bool(given.get("trend")),
    }


def _results(addresses: Sequence[str], names: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the other results that an address names: each again, its title, what it asks."""
    queries = [query_at(address, "result") for address in addresses]
    return [
        (
            query.address(),
            query.result_type.title,
            "; ".join(in_texts(text, names) for text in query.spelled().values()),
        )
        for query in queries
    ]


def _number(given: Mapping[str, str]) -> float:
    text = given.get("confidence", "0.95")
    try:
        return parse_number(text)
    except ValueError:
        raise InvalidParameter(
            f"confidence is {show(text)}; give a number such as 0.95", field="confidence"
        ) from None


RETRY_AFTER_SECONDS: Final = 10


@shows("/privacy-sheet.<form>", Role.READER)
def sheet(row: VersionRow, form: str) -> Response:
    """Give two pages for an ethics board or a data-protection officer; nothing of reports."""
    if form not in privacy_sheets.MEDIA_TYPES:
        raise Refused("not-found", f"there is no privacy sheet as {show(form)}; choose html or pdf")
    days = request.args.get("kept_days", "").strip()
    try:
        body = privacy_sheets.privacy_sheet(
            services().surveys.published(row),
            form,
            language=request.args.get("language") or None,
            kept_days=_days(days) if days else None,
        )
    except MissingExtra as error:
        raise Refused("missing-extra", str(error)) from error
    except NotPrinted as error:
        raise Refused("unavailable", str(error), retry_after=RETRY_AFTER_SECONDS) from error
    answer = Response(body, mimetype=privacy_sheets.MEDIA_TYPES[form])
    return _shown_or_saved(answer, row, "privacy", form, policy=privacy_sheets.SHEET.policy)


def _shown_or_saved(
    answer: Response, row: VersionRow, name: str, form: str, *, policy: Callable[[], str]
) -> Response:
    """Let a browser show a page under its own policy, and save a file of another form."""
    answer = finished(answer)
    if form == "html":
        answer.headers["Content-Security-Policy"] = policy()
    else:
        file = f"{row.name}-{row.version}-{name}.{form}"
        answer.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer


def _days(text: str) -> int:
    try:
        return parse_whole(text)
    except ValueError:
        raise InvalidParameter(
            f"kept_days is {show(text)}; give a whole number of days such as 90", field="kept_days"
        ) from None


@shows("/codebook.<form>", Role.READER)
def codebook_of_survey(row: VersionRow, form: str) -> Response:
    """Give the codebook; shares of small groups are merged for who may not export."""
    if form not in codebooks.MEDIA_TYPES:
        raise Refused("not-found", f"there is no codebook as {show(form)}; choose html, md or json")
    parts = services()
    shares = parts.analysis.shares(row, may_export=may_export(row))
    note_look(row, "codebook")
    document = codebooks.codebook(parts.surveys.published(row), shares)
    body = codebooks.codebook_file(document, form)
    answer = Response(body, mimetype=codebooks.MEDIA_TYPES[form])
    return _shown_or_saved(answer, row, "codebook", form, policy=codebooks.CODEBOOK.policy)
