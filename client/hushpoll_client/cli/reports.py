"""``hushpoll report`` writes a survey's results to a file; ``hushpoll results`` publishes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import wait_for
from hushpoll_client.cli.options import (
    Output,
    analyst,
    job_watch,
    optional_url_option,
    required_token,
    server_module,
    survey_command,
    timeout_option,
    token_option,
    version_option,
    yes_option,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import (
    FAILED,
    agreed,
    emit,
    json_option,
    reports_errors,
    waiting,
    with_options,
)
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.jobs.files import MOST_FIGURES_AT_ONCE
from hushpoll_shared.querying.registry import query_at
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents.results import PublicResultsDocument

FORMATS: Final = {".html": "html", ".pdf": "pdf"}
_OFFLINE: Final = "hushpoll_server.survey_reports.files.offline"


def check_ending(noun: str, formats: Mapping[str, str], endings: str) -> Callable[[Path], None]:
    """Return what refuses a file whose ending names none of the formats."""

    def check(out: Path) -> None:
        if out.suffix.lower() not in formats:
            raise InvalidParameter(
                f"--out is {str(out)!r}, whose ending names no {noun}; give a file that ends in "
                f"{endings}",
                field="out",
            )

    return check


choice_options: Final = with_options(
    click.option(
        "--attribute",
        "attributes",
        multiple=True,
        help="Show this question. [default: all of them]",
    ),
    click.option("--cross", "crosses", multiple=True, metavar="A,B", help="Show this cross-table."),
    click.option(
        "--estimator",
        type=click.Choice(
            [name for name, terms in ESTIMATOR_TERMS.items() if not terms.needs_records]
        ),
        help="How shares are estimated; only unbiased has an interval. [default: unbiased]",
    ),
    click.option("--confidence", type=float, help="Confidence of the intervals. [default: 0.95]"),
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
"""Adds the options that choose what of a survey is shown."""


def chosen_tables(crosses: Iterable[str]) -> list[list[str]]:
    """Return the pairs of attributes that ``--cross`` names."""
    return [read_list(pair, field="--cross") for pair in crosses]


@click.command()
@click.argument("name", required=False)
@version_option
@out_option(
    "File to write; it ends in .html or .pdf. [default: NAME.html]",
    check=check_ending("report", FORMATS, ".html or .pdf"),
)
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
    with analyst(url, required_token(token)) as client:
        published = client.show(name, version)
        number = published.version
        wanted: list[tuple[Path, str | None]] = [(out or Path(f"{name}.html"), None)]
        wanted += [] if bundle is None else [(bundle, "bundle")]
        sizes: dict[str, int] = {}
        for path, form in wanted:
            kind = form or FORMATS[path.suffix.lower()]
            _fetch(client, published, path, kind, shown, timeout)
            sizes[str(path)] = path.stat().st_size
    document = {"survey": name, "version": number, "files": sizes}
    files = " and ".join(sizes)
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
                on_look=job_watch(say),
            )
        client.job_result(str(job["id"]), file.write)


def _from_bundle(source: Path, out: Path | None, *, as_json: bool) -> None:
    """Make a bundle's report again, and say which of its files came out the same."""
    try:
        _made_again(source, out, as_json=as_json)
    except InvalidParameter as error:
        if error.field != "from":
            raise
        raise InvalidParameter(f"{word(source)}: {error}", field="from") from error


def _made_again(source: Path, out: Path | None, *, as_json: bool) -> None:
    offline = server_module(_OFFLINE, "hushpoll report --from")
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


@click.command()
@survey_command(
    choice_options,
    click.option(
        "--so-far",
        is_flag=True,
        help="Publish results of a survey that still runs: of randomised questions alone.",
    ),
    yes_option,
)
def publish(
    client: AnalystClient,
    name: str,
    version: int,
    crosses: tuple[str, ...],
    estimator: str | None,
    confidence: float | None,
    so_far: bool,
    yes: bool,
    **shown: Any,
) -> Output:
    """Publish results of the survey NAME: everybody may read them, without sign-in.

    The survey is closed, or with --so-far it still runs.

    The page and its files are kept as they are now. Results that are published already give way.
    The command warns of tables with a group of fewer than 10 reports in clear.
    """
    results = "results so far" if so_far else "results"
    agreed(f"Show the {results} of {name} version {version} to everybody?", yes=yes)
    given = {"estimator": estimator, "confidence": confidence}
    shown |= {key: value for key, value in given.items() if value is not None}
    tables = chosen_tables(crosses)
    answer = client.publish_results(name, version, cross_tables=tables, so_far=so_far, **shown)
    return answer, lambda told: _published(told, client.url)


def _published(told: dict[str, Any], server: str) -> str:
    page = server + told["address"]
    lines = [f"The results of {told['survey']} version {told['version']} are public: {page}"]
    # A server of an earlier release gives none.
    lines += [f"Warning: {warning}." for warning in told.get("warnings", [])]
    return "\n".join(lines)


@click.command()
@survey_command(yes_option)
def withdraw(client: AnalystClient, name: str, version: int, yes: bool) -> Output:
    """Take the published results of the survey NAME back; their files are deleted.

    From then on their address says that they were taken back. Who has saved them keeps them.
    """
    agreed(f"Take the published results of {name} version {version} back?", yes=yes)
    client.take_results_back(name, version)
    document = {"survey": name, "version": version, "state": "taken-back"}
    return document, f"The results of {name} version {version} are taken back."


@click.command("list")
@survey_command()
def list_publications(client: AnalystClient, name: str, version: int) -> Output:
    """List the publications of the survey NAME, also those that were taken back."""
    return {
        "publications": client.public_results(name, version)
    }, lambda answer: "\n".join(map(_line, answer["publications"])) or "No results were published."


def _line(told: PublicResultsDocument) -> str:
    back = told["taken_back_at"]
    state = "public" if back is None else f"taken back {back}"
    tables = "".join(f"  {' by '.join(pair)}" for pair in told["cross_tables"])
    return (
        f"{told['address']}  {state}  published {told['published_at']} by "
        f"{told['published_by']}  {', '.join(told['attributes'])}{tables}"
    )
