"""A survey described in a file: ``hushpoll privacy-sheet`` and ``hushpoll codebook``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    Output,
    analyst,
    optional_url_option,
    server_module,
    survey_command,
    version_option,
)
from hushpoll_client.cli.reports import FORMATS, check_ending
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors, waiting
from hushpoll_shared.drafts.manifest import Manifest, load_document
from hushpoll_shared.survey.published import Published

_MANIFESTS: Final = frozenset({".yaml", ".yml", ".json"})
_CODEBOOKS: Final = {".html": "html", ".md": "md", ".json": "json"}
_SHEET: Final = "hushpoll_server.survey_reports.sheets.privacy_sheet"


@click.command("privacy-sheet")
@click.argument("survey")
@version_option
@out_option(
    "File to write; it ends in .html or .pdf. [default: NAME-privacy.html]",
    check=check_ending("sheet", FORMATS, ".html or .pdf"),
)
@click.option(
    "--language",
    help="Language of the sheet: en, de, fr or es. [default: the survey's own, or else en]",
)
@click.option(
    "--kept-days",
    type=int,
    help="Days after the end of the survey within which you delete its records.",
)
@optional_url_option
@json_option
@reports_errors
def privacy_sheet(
    survey: str,
    version: int | None,
    out: Path | None,
    language: str | None,
    kept_days: int | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Write the privacy sheet of SURVEY: the name of a survey on a server, or a manifest's file.

    Two pages: what is collected, how it is randomised, epsilon beside published designs, who can
    learn what, how long it is kept, and a text for consent. It needs no token.
    """
    sheet = server_module(_SHEET, "hushpoll privacy-sheet")
    published, draft = _survey(survey, version, url)
    path = out or Path(f"{published.name}-privacy.html")
    form = FORMATS[path.suffix.lower()]
    body = sheet.privacy_sheet(published, form, language=language, kept_days=kept_days, draft=draft)
    with replacing(path) as file:
        file.write(body)
    document = {
        "survey": published.name,
        "version": published.version,
        "digest": published.digest,
        "files": {str(path): path.stat().st_size},
    }
    text = f"The privacy sheet of {published.name} version {published.version} is in {path}."
    emit(document, text, as_json=as_json)


def _survey(survey: str, version: int | None, url: str | None) -> tuple[Published, bool]:
    """Return a survey, and whether it is of a manifest that is not published yet."""
    if Path(survey).suffix.lower() in _MANIFESTS:
        if version is not None:
            raise click.UsageError("A manifest has its version: leave out --version.")
        document = load_document(survey)
        if isinstance(document, dict) and "format" in document:
            return Published.from_json(document), False
        return Manifest.from_dict(document).resolve(), True
    if url is None:
        raise click.UsageError(
            "Missing option '--url', the server that has the survey; or give the file of a "
            "manifest, which ends in .yaml, .yml or .json."
        )
    with analyst(url, None) as client:
        return client.show(survey, version), False


@click.command()
@survey_command(
    out_option(
        "File to write; it ends in .html, .md or .json. [default: NAME-codebook.html]",
        check=check_ending("codebook", _CODEBOOKS, ", ".join(_CODEBOOKS)),
    )
)
def codebook(client: AnalystClient, name: str, version: int, out: Path | None) -> Output:
    """Write the codebook of the survey NAME.

    It has every question in every language, its codes, block, protocol, epsilon and law, how to
    de-bias what is exported, and the shares of the last release with their intervals.
    """
    path = out or Path(f"{name}-codebook.html")
    form = _CODEBOOKS[path.suffix.lower()]
    with waiting(f"codebook of {name}"), replacing(path) as file:
        size = client.codebook_file(name, version, file.write, format=form)
    document = {"survey": name, "version": version, "file": str(path), "bytes": size}
    return document, f"The codebook of {name} version {version} is in {path}."
