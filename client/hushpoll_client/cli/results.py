"""``hushpoll estimate`` and ``hushpoll export``: a survey's estimates, and its records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    analyst_command,
    out_option,
    replacing,
    timeout_option,
    version_of,
    version_option,
)
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_shared.cli.estimates_text import (
    attribute_entries,
    cross_table_text,
    estimates_text,
    estimator_option,
)
from hushpoll_shared.cli.fairness_options import confidence_option
from hushpoll_shared.cli.terminal import emit, emit_answer, progress, waiting
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.wire.records_file import read_records_header


@click.command()
@click.argument("name")
@version_option
@click.option("--attribute", "attributes", multiple=True, help="Only this one; may be repeated.")
@estimator_option
@confidence_option
@click.option(
    "--check-shape",
    is_flag=True,
    help="Also let a worker of the server test whether the reports look like those of devices.",
)
@timeout_option("Seconds to wait for that worker.")
@analyst_command
def estimate(
    client: AnalystClient,
    name: str,
    version: int | None,
    attributes: tuple[str, ...],
    estimator: str,
    confidence: float,
    check_shape: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Show how often each answer of the survey NAME was given.

    Unbiased estimates are not rounded up to 0, so a rare answer's can lie below it; each interval
    covers the truth of the population in 95 of 100 surveys, if the results are looked at once.
    Other estimators are nearer to the whole distribution and have no interval.
    """
    number = version_of(client, name, version)
    answer = client.estimates(name, number, confidence=confidence, estimator=estimator)
    if check_shape:
        with waiting(f"shape of the reports of {name}") as say:
            answer["shape"] = client.report_shape(
                name, number, timeout=timeout, on_look=lambda job: say(str(job.get("state")))
            )
    entries = attribute_entries(answer)
    names = [entry.get("name") for entry in entries]
    for attribute in attributes:
        if attribute not in names:
            raise InvalidParameter(
                f"--attribute is {attribute!r}, which survey {name!r} does not ask; its attributes "
                f"are {', '.join(map(str, names))}",
                field="attribute",
            )
    if attributes:
        answer["attributes"] = [entry for entry in entries if entry.get("name") in attributes]
    emit_answer(answer, _text, as_json=as_json)


@click.command("cross-table")
@click.argument("name")
@click.argument("a")
@click.argument("b")
@version_option
@confidence_option
@analyst_command
def cross_table(
    client: AnalystClient,
    name: str,
    a: str,
    b: str,
    version: int | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Show the shares of the respondents of NAME who are in a category of A and in one of B.

    Shares are unbiased and not rounded up to 0. Each has an interval.
    """
    number = version_of(client, name, version)
    answer = client.cross_table(name, number, a, b, confidence=confidence)
    emit_answer(answer, cross_table_text, as_json=as_json)


@click.command()
@click.argument("name")
@version_option
@out_option("File to write; replaced only once all has arrived.", required=True)
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
@analyst_command
def export(
    client: AnalystClient,
    name: str,
    version: int | None,
    out: Path,
    form: str,
    content: str,
    raw: bool,
    as_json: bool,
) -> None:
    """Save the records of the survey NAME, with its manifest, in random order and without ids.

    A CSV file has no manifest. A text in it that begins like a formula (= + - @ or a tab) has an
    apostrophe before it, which hushpoll takes off again when it reads such a file.
    """
    with replacing(out) as file:
        number = version_of(client, name, version)
        with progress(f"records of {name}") as advance:
            size = client.export(
                name,
                number,
                lambda piece: (file.write(piece), advance(len(piece))),
                format=form,
                content=content,
                raw=raw,
            )
        file.flush()
        document: dict[str, Any] = {"survey": name, "version": number}
        if form == "records":
            document |= _checked(file, name, size)
        else:
            document |= {"format": form, "content": content, "bytes": size}
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


def _text(answer: Mapping[str, Any]) -> str:
    shape = "\n\n" + shape_text(answer["shape"]) if "shape" in answer else ""
    return estimates_text(answer) + shape


def shape_text(tested: Mapping[str, Any]) -> str:
    """Return the result of :meth:`AnalystClient.report_shape` as lines of text.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such result.
    """
    p_value, alpha = tested["p_value"], float(tested["alpha"])
    if p_value is None:
        head = "Shape of the reports: nothing to test."
    elif tested["flagged"]:
        head = (
            f"Shape of the reports: FLAGGED, p = {float(p_value):.2g}. Some were not made by "
            f"devices: at most {alpha:.3g} of honest surveys are flagged."
        )
    else:
        head = (
            f"Shape of the reports: like those of devices, p = {float(p_value):.2g} (flagged at "
            f"{alpha:g}). Fakes that were made with care look like this too."
        )
    lines = [head]
    for attribute in tested["attributes"]:
        chance = attribute["p_value"]
        words = "not tested" if chance is None else f"p = {float(chance):.2g}"
        lines.append(
            f"  {printable(attribute['name'])}: {words}; {printable(attribute['finding'])}"
        )
    return "\n".join(lines)
