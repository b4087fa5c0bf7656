"""``hushpoll privacy-sheet``: two pages on a survey, for those who have to approve of it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from hushpoll_client.cli.options import analyst, optional_url_option, version_option
from hushpoll_client.cli.reporting.report import FORMATS
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.drafts.manifest import Manifest, load_document
from hushpoll_shared.survey.published import Published

_MANIFESTS: Final = frozenset({".yaml", ".yml", ".json"})
_SHEET: Final = "hushpoll_server.survey_reports.sheets.privacy_sheet"


def _ending(out: Path) -> None:
    if out.suffix.lower() not in FORMATS:
        raise InvalidParameter(
            f"--out is {str(out)!r}, whose ending names no sheet; give a file that ends in .html "
            "or .pdf",
            field="out",
        )


@click.command("privacy-sheet")
@click.argument("survey")
@version_option
@out_option("File to write; it ends in .html or .pdf. [default: NAME-privacy.html]", check=_ending)
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
    try:
        # The other distribution, which this one does not import by itself.
        sheet: Any = import_module(_SHEET)
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "hushpoll privacy-sheet") from error
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
