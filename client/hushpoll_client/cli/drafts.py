"""``hushpoll draft``: check or import a manifest, keep it on a server, change it, publish it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    Output,
    analyst,
    analyst_command,
    optional_url_option,
    published_lines,
    required_token,
    survey_command,
    token_option,
    yes_option,
)
from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_shared.cli.manifest_commands import refusal, with_lines
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import (
    agreed,
    emit,
    json_option,
    reports_errors,
    usable,
)
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.importing.formats import import_file
from hushpoll_shared.importing.report import ImportedDraft, report_text
from hushpoll_shared.reading.text_files import read_document
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.survey.questions.presentation import IMAGE_BYTES

MANIFEST = click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
REVISION = click.option(
    "--revision",
    type=click.IntRange(min=1),
    required=True,
    help="Revision that you have read: a draft that was changed since is left as it is.",
)


@click.command()
@MANIFEST
@analyst_command
def check(client: AnalystClient, manifest: Path) -> Output:
    """Name all faults for which the server would refuse MANIFEST; publish nothing.

    MANIFEST is a file .json or .yaml; each fault is told with its line. The command ends with 1 if
    there is a fault. hushpoll manifest check needs no server.
    """
    answer = client.validate(_read(manifest))
    listed = usable(lambda: with_lines(manifest, answer["problems"]))
    failure = None if answer.get("valid") is True else click.exceptions.Exit(1)
    return {**answer, "problems": listed}, lambda told: _checked(manifest, told), failure


@click.command("list")
@analyst_command
def list_drafts(client: AnalystClient) -> Output:
    """List the drafts that the server keeps."""
    return {
        "drafts": client.drafts()
    }, lambda answer: "\n".join(map(_line, answer["drafts"])) or "No draft is kept."


@click.command()
@click.argument("draft_id", metavar="ID")
@analyst_command
def show(client: AnalystClient, draft_id: str) -> Output:
    """Show the draft ID with its manifest."""

    def written(answer: JsonMembers) -> str:
        manifest = answer.get("manifest")
        return f"# {_line(answer)}\n{write_yaml(manifest) if isinstance(manifest, dict) else ''}"

    return client.draft(draft_id), written


@click.command()
@MANIFEST
@click.option("--id", "draft_id", metavar="ID", help="Change this draft, in place of a new one.")
@click.option("--revision", type=click.IntRange(min=1), help="Revision of it that you have read.")
@analyst_command
def save(
    client: AnalystClient, manifest: Path, draft_id: str | None, revision: int | None
) -> Output:
    """Keep MANIFEST (.json, .yaml) on the server as a draft, whatever it lacks but for its name."""
    if (draft_id is None) != (revision is None):
        raise click.UsageError("Give --id and --revision together, or neither for a new draft.")
    document = _read(manifest)
    if draft_id is None or revision is None:
        return client.add_draft(document), _line
    return client.replace_draft(draft_id, document, revision=revision), _line


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@analyst_command
def image(client: AnalystClient, file: Path) -> Output:
    """Keep FILE, a PNG, JPEG, WebP or GIF, on the server for the logo of a survey.

    It has at most 256 KiB and 2000 pixels each way. Everybody may load it, with all that the file
    says beside the picture, such as where a photograph was taken.
    """
    size = file.stat().st_size
    if size > IMAGE_BYTES:
        raise InvalidParameter(
            f"{file.name} has {size:,} bytes; a logo has at most {IMAGE_BYTES:,} (256 KiB): make "
            "it smaller, 600 pixels wide are enough",
            field="file",
        )
    return (
        client.add_image(file.read_bytes(), file=file.name),
        lambda told: (
            f"The server keeps the image. In a manifest:\n\nlogo:\n  image: {told['image']}\n"
            "  alt: what is read where the image is not seen"
        ),
    )


@click.command()
@survey_command()
def begin(client: AnalystClient, name: str, version: int) -> Output:
    """Begin the next version of the published survey NAME as a draft."""
    return client.draft_of_version(name, version), _line


@click.command()
@click.argument("draft_id", metavar="ID")
@REVISION
@click.option(
    "--allow-weak", is_flag=True, help="Publish although respondents are hardly protected."
)
@analyst_command
def publish(client: AnalystClient, draft_id: str, revision: int, allow_weak: bool) -> Output:
    """Publish the draft ID; it is then a survey, and no draft any more."""
    answer = client.publish_draft(draft_id, revision=revision, allow_weak=allow_weak)
    return answer, lambda told: "\n".join(published_lines(told))


@click.command()
@click.argument("draft_id", metavar="ID")
@yes_option
@analyst_command
def delete(client: AnalystClient, draft_id: str, yes: bool) -> Output:
    """Delete the draft ID for good."""
    agreed(f"Delete the draft {draft_id}? This cannot be undone.", yes=yes)
    client.delete_draft(draft_id)
    return {"id": draft_id, "state": "deleted"}, f"draft {draft_id} is deleted"


def _read(path: Path) -> JsonMembers:
    """Return a manifest as it is written, with all its mistakes."""
    document = read_document(path, field="manifest", noun="the manifest")
    if not isinstance(document, dict):
        raise HushpollError(
            f"{path.name} is no mapping; begin it with a line such as name: work-and-health"
        )
    return document


def _line(draft: JsonMembers) -> str:
    return (
        f"{draft.get('id')}  {draft.get('survey')}  revision {draft.get('revision')}  changed "
        f"{draft.get('changed_at')} by {draft.get('changed_by')}  {draft.get('title')}"
    )


def _checked(path: Path, answer: dict[str, Any]) -> str:
    lines = [refusal(path, answer["problems"])] if answer["problems"] else []
    if answer.get("hardly_protected") is not None:
        lines.append(f"only with --allow-weak: {answer['hardly_protected']}")
    if not lines:
        lines.append("It can be published.")
    lines += [f"warning: {warning.get('message')}" for warning in answer["warnings"]]
    return "\n".join(lines)


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", "survey", help="The survey's name; by default made of the form's.")
@out_option("Write the draft to this file (.yaml or .json), and ask no server.")
@optional_url_option
@token_option
@json_option
@reports_errors
def import_draft(
    file: Path,
    survey: str | None,
    out: Path | None,
    url: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Make a draft of FILE, a questionnaire of another tool, and report on each of its questions.

    FILE is an XLSForm (.xlsx, .xls, .csv) of ODK, Kobo, SurveyCTO or Ona, or a survey of SurveyJS
    (.json). The server keeps the draft, or --out writes it to a file. Every question is taken,
    changed, to be decided by you, or dropped with the reason.
    """
    if out is None and url is None:
        raise click.UsageError("Give --out for a file, or --url for the server that keeps it.")
    imported = import_file(file, survey=survey)
    document: dict[str, object] = {"manifest": imported.manifest, "report": imported.report()}
    if out is not None:
        with replacing(out) as stream:
            stream.write(_written(imported, out).encode())
        kept = f"The draft is in {out}."
    else:
        with analyst(url or "", required_token(token)) as client:
            draft = client.add_draft(imported.manifest)
        document["draft"] = draft
        about = (printable(draft.get(key)) for key in ("id", "revision"))
        kept = "The server keeps the draft {}, revision {}.".format(*about)
    emit(document, lambda: f"{report_text(imported)}\n\n{kept}", as_json=as_json)


def _written(imported: ImportedDraft, out: Path) -> str:
    if out.suffix.lower() == ".json":
        return json.dumps(imported.manifest, ensure_ascii=False, indent=2) + "\n"
    return write_yaml(imported.manifest)
