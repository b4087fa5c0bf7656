"""``hushpoll estimate`` and ``hushpoll export``: what an analyst gets out of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, cast

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    analyst,
    authorized,
    timeout_option,
    token_option,
    url_option,
    version_option,
)
from hushpoll_client.cli.report_shape import shape_text
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused, TransportError
from hushpoll_shared.cli.terminal import (
    emit,
    emit_answer,
    json_option,
    progress,
    reports_errors,
    waiting,
)
from hushpoll_shared.wire.records_file import read_records_header


@click.command()
@click.argument("name")
@version_option
@click.option("--attribute", "attributes", multiple=True, help="Only this one; may be repeated.")
@click.option(
    "--check-shape",
    is_flag=True,
    help="Also let a worker of the server test whether the reports look like those of devices.",
)
@timeout_option("Seconds to wait for that worker.")
@url_option
@token_option
@json_option
@reports_errors
def estimate(
    name: str,
    version: int | None,
    attributes: tuple[str, ...],
    check_shape: bool,
    timeout: float,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Show how often each answer of the survey NAME was given.

    Estimates are not rounded up to 0, so a rare answer's can lie below it; each interval covers the
    truth of the population in 95 of 100 surveys, if the results are looked at once.
    """
    shape = None
    with analyst(url, authorized(token)) as client:
        number = _version(client, name, version)
        answer = client.estimates(name, number)
        if check_shape:
            with waiting(f"shape of the reports of {name}") as say:
                shape = client.report_shape(
                    name, number, timeout=timeout, on_look=lambda job: say(str(job.get("state")))
                )
    found = _attributes(answer)
    known = [entry.get("name") for entry in found]
    for attribute in attributes:
        if attribute not in known:
            raise InvalidParameter(
                f"--attribute is {attribute!r}, which survey {name!r} does not ask; its attributes "
                f"are {', '.join(map(str, known))}",
                field="attribute",
            )
    if attributes:
        answer["attributes"] = [item for item in found if item.get("name") in attributes]
    text = [] if shape is None else [_shape(shape)]
    if shape is not None:
        answer["shape"] = shape
    emit_answer(
        answer,
        lambda shown: "\n\n".join([_tables(shown, _attributes(shown)), *text]),
        as_json=as_json,
    )


@click.command()
@click.argument("name")
@version_option
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; replaced only once all has arrived.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["records", "parquet", "csv"]),
    default="records",
    show_default=True,
    help="records: the file that carries its own manifest, which hushpoll train reads.",
)
@click.option(
    "--content",
    type=click.Choice(["records", "indicators", "debiased"]),
    default="records",
    show_default=True,
    help="Of a table: what was reported, a 0/1 column for each category, or the same unbiased.",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Of CSV: leave texts as they are that a spreadsheet would take for formulas.",
)
@url_option
@token_option
@json_option
@reports_errors
def export(
    name: str,
    version: int | None,
    out: Path,
    form: str,
    content: str,
    raw: bool,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Save the records of the survey NAME, with its manifest, in random order and without ids.

    A CSV file has no manifest. A text in it that begins like a formula (= + - @ or a tab) has an
    apostrophe before it, which hushpoll takes off again when it reads such a file.
    """
    if not out.parent.is_dir():
        raise InvalidParameter(
            f"--out is {str(out)!r}, and {str(out.parent)!r} is no directory; make it first",
            field="out",
        )
    with (
        analyst(url, authorized(token)) as client,
        NamedTemporaryFile(dir=out.parent, prefix=out.name, delete=False) as target,
    ):
        try:
            number = _version(client, name, version)
            with progress(f"records of {name}") as advance:
                size = client.export(
                    name,
                    number,
                    lambda piece: (target.write(piece), advance(len(piece))),
                    format=form,
                    content=content,
                    raw=raw,
                )
            target.flush()
            document: dict[str, Any] = {"survey": name, "version": number}
            if form == "records":
                document |= _checked(cast("BinaryIO", target), name, size)
            else:
                document |= {"format": form, "content": content, "bytes": size}
            Path(target.name).replace(out)
        except BaseException:
            Path(target.name).unlink(missing_ok=True)
            raise
    document["file"] = str(out)
    what = f"{document['records']} records" if form == "records" else f"{form} of the {content}"
    emit(document, f"{what} of {name} version {number} in {out}", as_json=as_json)


def _checked(file: BinaryIO, name: str, size: int) -> dict[str, Any]:
    """Read the file's own manifest, and count its rows."""
    file.seek(0)
    published = read_records_header(file)
    count, rest = divmod(size - file.tell(), published.layout.record_size)
    if rest or published.name != name:
        raise ManifestRefused(
            f"the server sent no whole records of survey {name!r}; try again",
            field="records",
        )
    return {"version": published.version, "digest": published.digest, "records": count}


def _attributes(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = answer.get("attributes")
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _version(client: AnalystClient, name: str, version: int | None) -> int:
    return client.show(name).version if version is None else version


def _tables(answer: Mapping[str, Any], attributes: list[dict[str, Any]]) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    buffer = StringIO()
    console = Console(file=buffer, width=100, color_system=None, markup=False, emoji=False)
    console.print(
        f"{answer.get('survey')} version {answer.get('version')}, {answer.get('n')} reports"
        + (f", {answer['pending']} more pending" if answer.get("pending") else "")
        + _released(answer),
        highlight=False,
    )
    level = f"{100 * float(answer.get('confidence', 0.95)):g} % interval"
    for attribute in attributes:
        how = "in clear"
        if attribute.get("protocol"):
            how = f"{attribute['protocol']}, epsilon {attribute.get('epsilon')}"
        table = Table(title=f"{attribute.get('name')} ({how})", title_justify="left")
        table.add_column("category", overflow="fold")
        for heading in ("estimate", "std. error", level):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in attribute.get("categories", []):
            table.add_row(
                str(row["category"]),
                f"{row['frequency']:.4f}",
                f"{row['standard_error']:.4f}",
                f"{row['lower']:.4f} to {row['upper']:.4f}",
            )
        console.print(table)
        console.print(_fakes(attribute), highlight=False)
    if answer.get("intervals"):
        console.print(str(answer["intervals"]), highlight=False)
    return buffer.getvalue().rstrip("\n")


def _released(answer: Mapping[str, Any]) -> str:
    """Say which release it is, of a survey that releases on a schedule."""
    if not answer.get("released_at"):
        return ""
    following = answer.get("next_release")
    return f", released at {answer['released_at']}" + (
        f"; the next {following}" if following else ""
    )


def _shape(found: Mapping[str, Any]) -> str:
    try:
        return shape_text(found)
    except (KeyError, TypeError, ValueError):
        raise TransportError(
            "the server's answer is no test of the reports' shape; check that both sides have the "
            "same version",
            retryable=False,
        ) from None


def _fakes(attribute: Mapping[str, Any]) -> str:
    """Say what fake reports could do, which no interval knows of."""
    found = attribute.get("poisoning")
    if not isinstance(found, dict):
        return ""
    return (
        f"If {found['fake_share']:.0%} of the reports were fake, an estimate could be up to "
        f"{found['raised_by']:.3f} too high or {abs(found['lowered_by']):.3f} too low.\n"
    )
