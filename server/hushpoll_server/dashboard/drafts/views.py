"""Drafts: begin one, write it as a form or as YAML, publish it, throw it away.

Each button of the form saves, but for the one that only looks. A form carries the revision that it
was made from: where another editor has saved since, nothing is overwritten and nothing typed is
lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode

from flask import Response, request, url_for
from markupsafe import Markup, escape

from hushpoll_protocols.errors import HushpollError, InvalidParameter, ManifestRefused
from hushpoll_server.dashboard.drafts.controls import DraftForm, Layout
from hushpoll_server.dashboard.drafts.editing import (
    NEW_LANGUAGE,
    changed,
    language_of,
    name_of,
    new_question,
)
from hushpoll_server.dashboard.drafts.fields import json_text
from hushpoll_server.dashboard.drafts.form import SURVEY_FORM, Form, form_of, manifest_of
from hushpoll_server.dashboard.drafts.given_manifest import given_manifest, given_questionnaire
from hushpoll_server.dashboard.drafts.outlook import BUSY, outlook_of
from hushpoll_server.dashboard.drafts.question_fields import QUESTION, items_of
from hushpoll_server.dashboard.drafts.translation_fields import names_of_items, open_tables
from hushpoll_server.dashboard.forms import Fault, comes_back
from hushpoll_server.dashboard.frame import (
    LIVE_POLICY,
    choice,
    dashboard,
    member,
    page,
    private,
    see,
)
from hushpoll_server.dashboard.version_pages import back_to, note_act, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.surveys.drafts import Draft
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.samples import sample_manifest
from hushpoll_shared.survey.questions.presentation import IMAGE_BYTES, Logo

NOT_KEPT: Final = frozenset({"draft-changed", "forbidden", "unknown-survey"})

OPEN_LANGUAGE: Final = "words"
"""The language whose table of translations is open, in the address and in the form."""

BESIDE: Final = "beside"
NOW: Final = "now"
"""In an address: what stands beside the form is made within the request, as without scripts."""

AT: Final = "at"
"""In an address: the question that is not folded."""

View = Callable[..., Response]


def _large(view: View) -> View:
    """Let the form of a view be as large as any request."""

    @wraps(view)
    def checked(**arguments: Any) -> Response:
        request.max_form_memory_size = request.max_content_length
        return view(**arguments)

    return checked


@dashboard.get("/drafts/new")
@private
def new_draft() -> Response:
    """Show how a survey begins: with a name and a title, or with a manifest in YAML."""
    if not any(Role(role).includes(Role.EDITOR) for role in member().roles.values()):
        raise Refused(
            "forbidden",
            "only editors and admins write surveys, and you are neither in any; ask an "
            "administrator for the role editor in a survey of the name that yours shall have",
        )
    return page("drafts/new.html")


@dashboard.post("/drafts/new")
@_large
@private
@comes_back(new_draft)
def begin_draft() -> Response:
    """Begin a draft; of a questionnaire of another tool, with a report of its questions."""
    imported = None
    if request.form.get("from") == "yaml":
        manifest = given_manifest()
    elif request.form.get("from") == "file":
        imported = given_questionnaire()
        manifest = imported.manifest
    else:
        name, title = (request.form.get(key, "").strip() for key in ("name", "title"))
        begin = _sample if request.form.get("questions") == "sample" else _empty
        manifest = begin(name or name_of(title), title)
    _require(manifest.get("name"))
    draft = services().drafts.add(manifest, actor=member().actor)
    _record("began-draft", draft)
    if imported is not None:
        return page("drafts/imported.html", 200, **_frame(draft), imported=imported)
    return see(url_for("dashboard.draft", draft_id=draft.row.id))


@takes("/draft", Role.EDITOR)
def draft_version(row: VersionRow) -> Response:
    """Begin the next version of a published survey."""
    parts = services()
    draft = parts.drafts.of_version(parts.surveys.published(row), actor=member().actor)
    _record("began-draft", draft)
    return see(url_for("dashboard.draft", draft_id=draft.row.id))


@dashboard.get("/drafts/<draft_id>")
@private
def draft(draft_id: str) -> Response:
    """Show a draft as a form, or as YAML."""
    kept = _reached(draft_id)
    if choice("as", ("form", "yaml")) == "yaml":
        return _as_yaml(kept, write_yaml(kept.manifest))
    return _as_form(kept, kept.manifest, later=request.args.get(BESIDE) != NOW)


@dashboard.post("/drafts/<draft_id>")
@_large
@private
def change_draft(draft_id: str) -> Response:
    """Save what was written, and add, remove or move a question; or only look at it."""
    kept = _reached(draft_id)
    if request.form.get("from") == "yaml":
        return _change_yaml(kept)
    act = request.form.get("do", "save")
    manifest = manifest_of(request.form, before=kept.manifest)
    try:
        manifest, shown = changed(manifest, act, request.form)
    except InvalidParameter as error:
        return _as_form(kept, manifest, revision=_revision(), refusal=error)
    if act == "look":
        return _as_form(kept, manifest, revision=_revision())
    refusal = _save(kept, manifest)
    if refusal is not None:
        return _as_form(kept, manifest, refusal=refusal)
    if act == "publish":
        return see(_address(kept, "", page="publish_page"))
    return see(_address(kept, shown, opened=language_of(act, request.form)))


@dashboard.post("/drafts/<draft_id>/logo")
@private
def change_logo(draft_id: str) -> Response:
    """Keep an image and name it in a draft as its logo, or take the logo out of it."""
    kept = _reached(draft_id)
    manifest = {key: value for key, value in kept.manifest.items() if key != "logo"}
    try:
        if request.form.get("do") != "remove":
            manifest["logo"] = _given_logo()
    except (Refused, HushpollError) as error:
        return _as_form(kept, kept.manifest, refusal=error)
    refusal = _save(kept, manifest)
    if refusal is not None:
        return _as_form(kept, kept.manifest, refusal=refusal)
    return see(_address(kept, ""))


def _given_logo() -> dict[str, str]:
    """Return the logo of a form: its file, which is kept, and what is read in its place."""
    file, alt = request.files.get("image"), request.form.get("alt", "").strip()
    if file is None or not file.filename:
        raise InvalidParameter("there is no file; choose an image", field="image")
    if not alt:
        raise InvalidParameter(
            "the text that is read in place of the image is empty; write what it shows",
            field="image",
        )
    with file.stream as stream:
        data = stream.read(IMAGE_BYTES + 1)
    actor = member().actor
    digest, _ = services().images.add(data, actor=actor, name=file.filename)
    services().actions.record(actor, "added-image")
    return Logo(digest, alt).to_dict()


@dashboard.get("/drafts/<draft_id>/publish")
@private
def publish_page(draft_id: str) -> Response:
    """Show what publishing means for this draft, and ask for agreement to each warning."""
    kept = _reached(draft_id)
    return _publishing(kept)


@dashboard.post("/drafts/<draft_id>/publish")
@private
@comes_back(publish_page)
def publish_draft(draft_id: str) -> Response:
    """Publish a draft, if it is still what was shown and its warnings are agreed to."""
    kept = _reached(draft_id)
    parts = services()
    outlook = outlook_of(kept.manifest, _form(kept.manifest), patient=True)
    if outlook.validation is None:  # nothing is known of its warnings, so nothing is agreed to
        return _publishing(
            kept, Refused("unavailable", f"{BUSY} Nothing was published; publish again")
        )
    weak = outlook.validation.hardly_protected is not None
    if outlook.warnings and not request.form.get("read"):
        raise InvalidParameter(
            "nothing was published; read the warnings, and say so here", field="read"
        )
    if weak and not request.form.get("weak"):
        raise InvalidParameter("nothing was published; lower epsilon, or say so here", field="weak")
    try:
        with parts.surveys.publishing.take():
            publication = parts.drafts.publish(kept, revision=_revision(), allow_weak=weak)
    except (Refused, ManifestRefused) as error:
        return _publishing(_reached(draft_id), error)
    row = publication.row
    if publication.created:
        note_act(row, "published")
    return back_to(row, "survey")


@dashboard.post("/drafts/<draft_id>/delete")
@private
def delete_draft(draft_id: str) -> Response:
    """Delete a draft, if it is still what was shown."""
    kept = _reached(draft_id)
    services().drafts.remove(kept, revision=_revision())
    _record("deleted-draft", kept)
    return see(url_for("dashboard.surveys"))


def _change_yaml(kept: Draft) -> Response:
    try:
        manifest = given_manifest()
    except HushpollError as error:
        return _as_yaml(kept, request.form.get("yaml", ""), fault=error)
    refusal = _save(kept, manifest)
    if refusal is not None:
        return _as_yaml(kept, request.form.get("yaml", "") or write_yaml(manifest), fault=refusal)
    return see(_address(kept, ""))


def _save(kept: Draft, manifest: Mapping[str, object]) -> HushpollError | None:
    """Save a manifest; return why it was not, if the form has to be shown again."""
    try:
        _require(manifest.get("name"))
        parts = services()
        parts.drafts.replace(kept, manifest, actor=member().actor, revision=_revision())
    except (Refused, ManifestRefused) as error:
        if isinstance(error, Refused) and error.code not in NOT_KEPT:
            raise
        return error
    _record("changed-draft", kept)
    return None


def _as_form(
    kept: Draft,
    manifest: Mapping[str, object],
    *,
    revision: int | None = None,
    refusal: HushpollError | None = None,
    later: bool = False,
) -> Response:
    """Show a manifest as a form, with what stands beside it; `later`: that comes by itself."""
    form = _form(manifest)
    outlook = outlook_of(manifest, form, later=later)
    lost = isinstance(refusal, Refused) and refusal.code == "draft-changed"
    if refusal is not None and not lost:
        # The name, or a language that cannot be added; nothing else keeps a draft from being kept.
        added = isinstance(refusal, InvalidParameter) and refusal.field == NEW_LANGUAGE
        of_logo = getattr(refusal, "field", None) in ("image", "logo.alt")
        place = NEW_LANGUAGE if added else "logo" if of_logo else "s-name"
        outlook.faults[place] = [str(refusal)]
    now = _reached(kept.row.id).row if lost else kept.row
    answer = page(
        "drafts/form.html",
        200 if refusal is None else 412 if lost else 422,
        **_frame(kept),
        form=form,
        outlook=outlook,
        revision=now.revision if revision is None else revision,
        saved=manifest == kept.manifest,
        changed_by=now.changed_by if lost else None,
        layout=Layout(SURVEY_FORM, QUESTION),
        f=DraftForm(outlook.faults),
        survey_form=SURVEY_FORM,
        question_form=QUESTION,
        json_of=json_text,
        item_names=lambda text: names_of_items(items_of(text)),
        in_apostrophes=_in_apostrophes,
        words=form.open_language,
        opened_question=request.args.get(AT, ""),
        at_once={BESIDE: NOW},
        new_language=request.form.get(NEW_LANGUAGE, "") if refusal is not None else "",
    )
    answer.headers["Content-Security-Policy"] = LIVE_POLICY
    return answer


def _as_yaml(kept: Draft, text: str, *, fault: HushpollError | None = None) -> Response:
    lost = isinstance(fault, Refused) and fault.code == "draft-changed"
    now = _reached(kept.row.id).row if lost else kept.row
    return page(
        "drafts/yaml.html",
        200 if fault is None else 412 if lost else 422,
        **_frame(kept),
        text=text,
        fault=None if lost or fault is None else Fault(("yaml",), str(fault)),
        revision=now.revision if fault is None or lost else _revision(),
        changed_by=now.changed_by if lost else None,
    )


def _publishing(kept: Draft, refusal: HushpollError | None = None) -> Response:
    outlook = outlook_of(kept.manifest, _form(kept.manifest), patient=True)
    return page(
        "drafts/publish.html",
        200 if refusal is None else 422,
        **_frame(kept),
        outlook=outlook,
        refusal=None if refusal is None else str(refusal),
        revision=kept.row.revision,
    )


def _frame(kept: Draft) -> dict[str, object]:
    described = services().drafts.describe(kept)
    numbers = {key: request.values.get(key, "").strip() for key in ("n", "width")}
    return {
        "draft": described,
        "title": kept.row.title or kept.row.survey,
        "plan_numbers": {key: text for key, text in numbers.items() if text},
    }


def _form(manifest: Mapping[str, object]) -> Form:
    """Return the form that shows a manifest, with the table of translations that is asked for."""
    form = form_of(manifest)
    open_tables(form.languages, request.values.get(OPEN_LANGUAGE, ""))
    return form


def _in_apostrophes(text: str) -> Markup:
    """Return a text for an attribute in apostrophes: JSON and HTML have many double quotes."""
    escaped = escape(str(text)).replace(Markup("&#34;"), Markup('"'))
    return escaped.replace(Markup("&gt;"), Markup(">"))


def _empty(name: str, title: str) -> dict[str, object]:
    """Return a manifest to begin with."""
    manifest: dict[str, object] = {
        "name": name,
        "version": services().surveys.next_version(name),
        "title": title,
        "epsilon": "2",
        "protocol": "SS",
        "attributes": [new_question({})],
    }
    return {key: value for key, value in manifest.items() if value != ""}


def _sample(name: str, title: str) -> dict[str, object]:
    """Return the sample survey under a name and a title of its own."""
    sample: dict[str, object] = parse_yaml(sample_manifest().encode())
    own = _empty(name, title)
    return sample | {key: own[key] for key in ("name", "version", "title") if key in own}


def _reached(draft_id: str) -> Draft:
    """Return a draft; refuses users who may not write surveys of its name."""
    kept = services().drafts.find(draft_id)
    if member().role(kept.row.survey) is None:
        raise Refused(
            "not-found",
            f"there is no draft {draft_id[:32]!r}; it may be published or deleted: go back to the "
            "list",
        )
    member().require(kept.row.survey, Role.EDITOR)
    return kept


def _require(name: object) -> None:
    """Refuse a survey's name under which the user may write none."""
    if isinstance(name, str) and not member().may(name, Role.EDITOR):
        raise ManifestRefused(
            f"name is {name[:64]!r}, and you are no editor of a survey of this name; give a name "
            "of which you are, or ask an administrator",
            field="name",
        )


def _revision() -> int:
    """Return the revision that the form was made from; 0, which none has, if it names none."""
    text = request.form.get("revision", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _address(kept: Draft, shown: str, *, page: str = "draft", opened: str = "") -> str:
    """Return the address of a draft's page with the numbers of its plan, at a question.

    `opened` is the language whose table is asked for, in place of the one that is open.
    """
    given = {key: request.values.get(key, "").strip() for key in ("n", "width", "lang")}
    # A browser opens no folded question at a fragment by itself.
    given[AT] = shown.partition("-")[0] if shown.startswith("q") else ""
    given[OPEN_LANGUAGE] = opened or request.form.get(OPEN_LANGUAGE, "")
    query = urlencode({key: text for key, text in given.items() if text})
    address = url_for(f"dashboard.{page}", draft_id=kept.row.id)
    return address + ("?" + query if query else "") + ("#" + shown if shown else "")


def _record(act: str, kept: Draft) -> None:
    services().actions.record(member().actor, act, survey=kept.row.survey, subject=kept.row.id)
