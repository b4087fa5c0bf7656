"""``hushpoll draft import``: a questionnaire of another tool becomes a draft."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hushpoll_client.cli.options import analyst, authorized, optional_url_option, token_option
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.importing.formats import import_file
from hushpoll_shared.importing.report import ImportedDraft, report_text
from hushpoll_shared.spelling.text import printable


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
        with analyst(url or "", authorized(token)) as client:
            draft = client.add_draft(imported.manifest)
        document["draft"] = draft
        about = (printable(draft.get(key)) for key in ("id", "revision"))
        kept = "The server keeps the draft {}, revision {}.".format(*about)
    emit(document, lambda: f"{report_text(imported)}\n\n{kept}", as_json=as_json)


def _written(imported: ImportedDraft, out: Path) -> str:
    if out.suffix.lower() == ".json":
        return json.dumps(imported.manifest, ensure_ascii=False, indent=2) + "\n"
    return write_yaml(imported.manifest)
