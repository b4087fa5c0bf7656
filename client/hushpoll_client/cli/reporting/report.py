"""``hushpoll report``: one file with a survey's results, from a server or from a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import wait_for
from hushpoll_client.cli.options import (
    analyst,
    authorized,
    looking,
    optional_url_option,
    timeout_option,
    token_option,
    version_option,
)
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import FAILED, emit, json_option, reports_errors, waiting
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.querying.registry import query_at
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.reading.text_files import named
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.job_kinds import MOST_FIGURES_AT_ONCE

_Command = TypeVar("_Command", bound=Callable[..., object])

FORMATS: Final = {".html": "html", ".pdf": "pdf"}
_OFFLINE: Final = "hushpoll_server.survey_reports.files.offline"


def _ending(out: Path) -> None:
    if out.suffix.lower() not in FORMATS:
        raise InvalidParameter(
            f"--out is {str(out)!r}, whose ending names no report; give a file that ends in .html "
            "or .pdf",
            field="out",
        )


def choice_options(command: _Command) -> _Command:
    """Add the options that choose what of a survey is shown."""
    for option in reversed(
        (
            click.option(
                "--attribute",
                "attributes",
                multiple=True,
                help="Show this question. [default: all of them]",
            ),
            click.option(
                "--cross", "crosses", multiple=True, metavar="A,B", help="Show this cross-table."
            ),
            click.option(
                "--estimator",
                type=click.Choice(
                    [name for name, terms in ESTIMATOR_TERMS.items() if not terms.needs_records]
                ),
                help="How shares are estimated; only unbiased has an interval. [default: unbiased]",
            ),
            click.option(
                "--confidence", type=float, help="Confidence of the intervals. [default: 0.95]"
            ),
            click.option(
                "--fairness/--no-fairness",
                default=True,
                help="Whether finished audits are shown.",
            ),
            click.option(
                "--trend",
                is_flag=True,
                help="Show questions beside earlier versions that ask them with the same answers.",
            ),
        )
    ):
        command = option(command)
    return command


def chosen_tables(crosses: Iterable[str]) -> list[list[str]]:
    """Return the pairs of attributes that ``--cross`` names."""
    return [read_list(pair, field="--cross") for pair in crosses]


@click.command()
@click.argument("name", required=False)
@version_option
@out_option("File to write; it ends in .html or .pdf. [default: NAME.html]", check=_ending)
@click.option(
    "--bundle",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write all that the report is made from, a ZIP that --from reads.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Make the report from this bundle again, without a server, and compare.",
)
@click.option(
    "--result",
    "results",
    multiple=True,
    metavar="NAME?PARAMETER=VALUE&...",
    help="Also show this result: a statistic by its name in addresses, with its parameters.",
)
@click.option(
    "--regression",
    "regressions",
    multiple=True,
    metavar="ID",
    help="Also show this kept regression; the dashboard and GET .../regressions list them.",
)
@click.option(
    "--language",
    type=click.Choice(["en", "de", "fr", "es"]),
    help="Language of the report's words. [default: en]",
)
@choice_options
@timeout_option("Seconds to wait for a worker, which makes a report of many questions.")
@optional_url_option
@token_option
@json_option
@reports_errors
def report(
    name: str | None,
    version: int | None,
    out: Path | None,
    bundle: Path | None,
    source: Path | None,
    url: str | None,
    token: str | None,
    timeout: float,
    as_json: bool,
    **shown: Any,
) -> None:
    """Write the results of the survey NAME to one file: methods, guarantee, estimates, limits.

    HTML prints well and loads nothing. From a bundle everyone makes the same file without a server:
    hushpoll report --from NAME.zip.
    """
    if source is not None:
        if name is not None:
            raise click.UsageError("A bundle has its survey: give NAME or --from, not both.")
        _from_bundle(source, out, as_json=as_json)
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME'; or give --from and a bundle.")
    if url is None:
        raise click.UsageError("Missing option '--url'; or give --from and a bundle.")
    with analyst(url, authorized(token)) as client:
        published = client.show(name, version)
        number = published.version
        wanted: list[tuple[Path, str | None]] = [(out or Path(f"{name}.html"), None)]
        wanted += [] if bundle is None else [(bundle, "bundle")]
        document: dict[str, Any] = {"survey": name, "version": number, "files": {}}
        for path, form in wanted:
            kind = form or FORMATS[path.suffix.lower()]
            _fetch(client, published, path, kind, shown, timeout)
            document["files"][str(path)] = path.stat().st_size
    files = " and ".join(document["files"])
    emit(document, f"The results of {name} version {number} are in {files}.", as_json=as_json)


def _fetch(
    client: AnalystClient,
    published: Published,
    path: Path,
    form: str,
    shown: dict[str, Any],
    timeout: float,
) -> None:
    """Write one file; a report that is too long to wait for is made by a worker of the server."""
    name, version = published.name, published.version
    asked = {
        "format": form,
        "attributes": list(shown["attributes"]),
        "cross_tables": chosen_tables(shown["crosses"]),
        "fairness": shown["fairness"],
        **({"trend": True} if shown["trend"] else {}),
        **{
            key: shown[key]
            for key in ("estimator", "confidence", "language")
            if shown[key] is not None
        },
    }
    results = [query_at(address, "--result") for address in shown["results"]]
    if shown["regressions"]:
        asked["regressions"] = list(shown["regressions"])
    figures = len(asked["attributes"] or published.attributes) + len(asked["cross_tables"])
    figures += len(shown["regressions"])
    with replacing(path) as file:
        if figures <= MOST_FIGURES_AT_ONCE:
            client.report(name, version, file.write, results=results, **asked)
            return
        if results:
            asked["results"] = [query.address() for query in results]
        with waiting(f"report of {name}") as say:
            job = wait_for(
                client.job,
                client.start_job("report", name, version, asked),
                timeout=timeout,
                on_look=looking(say),
            )
        client.job_result(str(job["id"]), file.write)


def _from_bundle(source: Path, out: Path | None, *, as_json: bool) -> None:
    """Make a bundle's report again, and say which of its files came out the same."""
    try:
        _made_again(source, out, as_json=as_json)
    except InvalidParameter as error:
        if error.field != "from":
            raise
        raise InvalidParameter(f"{named(source)}: {error}", field="from") from error


def _made_again(source: Path, out: Path | None, *, as_json: bool) -> None:
    try:
        # The other distribution, which this one does not import by itself.
        offline: Any = import_module(_OFFLINE)
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "hushpoll report --from") from error
    path = out or source.with_suffix(".html")
    with offline.remade(source.read_bytes()) as made:
        with replacing(path) as file:
            file.write(made.file(FORMATS[path.suffix.lower()]))
        survey = made.report.basis.published
        document = {
            "survey": survey.name,
            "version": survey.version,
            "digest": survey.digest,
            "files": {str(path): path.stat().st_size},
            "same": list(made.same),
            "different": list(made.different),
            "other_versions": list(made.versions),
        }
    text = (
        f"The results of {survey.name} version {survey.version} are in {path}. "
        f"{len(made.same)} files of the bundle were made again, to the last byte"
    )
    if made.different:
        text += f"; {len(made.different)} came out differently: {', '.join(made.different)}"
        if made.versions:
            text += f". Other versions made them: {'; '.join(made.versions)}"
    emit(document, f"{text}.", as_json=as_json)
    if made.different:
        raise click.exceptions.Exit(FAILED)
