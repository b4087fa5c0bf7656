"""``hushpoll submit``: upload reports that were written to a file."""

from __future__ import annotations

from pathlib import Path

import click

from hushpoll_client.cli.options import analyst as open_analyst
from hushpoll_client.cli.options import token_option, url_option
from hushpoll_fleet.sending.offline import upload_reports
from hushpoll_shared.cli.terminal import emit, json_option, progress, reports_errors


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("survey")
@click.option(
    "--survey-version", type=click.IntRange(min=1), help="Version.  [default: the newest open one]"
)
@url_option
@token_option
@json_option
@reports_errors
@click.pass_context
def submit(
    ctx: click.Context,
    file: Path,
    survey: str,
    survey_version: int | None,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Upload the reports of FILE, as hushpoll simulate --to-file wrote it, to SURVEY.

    Needs a token of scope submit. Reports that the server has are not counted again, so an upload
    that was cut short can be repeated as it is.
    """
    with open_analyst(url, token) as client:
        published = client.show(survey, survey_version)
        with progress("reports") as advance:
            account = upload_reports(client, published, file, progress=advance)
    emit(account.to_dict(), str(account), as_json=as_json)
    if not account.complete:
        ctx.exit(1)
