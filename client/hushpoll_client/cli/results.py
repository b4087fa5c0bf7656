"""Estimates of a survey, and its records, as commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    InTwoParts,
    Output,
    analyst_command,
    job_watch,
    statistic_command,
    timeout_option,
    version_of,
    version_option,
)
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.statistic_commands import ESTIMATES, TIDY_RESULTS
from hushpoll_shared.cli.statistic_texts import (
    attribute_entries,
    judge_again,
    names_of_entry,
    read_again,
    shape_text,
)
from hushpoll_shared.cli.terminal import progress, waiting
from hushpoll_shared.cli.weighting import read_design
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_shared.wire.records_file import read_records_header

_EXPORTS: Final = ("records", "parquet", "csv", "sav", "dta")
_OTHER_TABLES: Final = ("xlsx", "json")
"""Endings that name a form of other commands' tables, and none of an export."""


@click.command()
@click.option(
    "--check-shape",
    is_flag=True,
    help="Also let a worker of the server test whether the reports look like those of devices.",
)
@timeout_option("Seconds to wait for that worker.")
@statistic_command(ESTIMATES, waits=True)
def estimate(
    client: AnalystClient,
    name: str,
    version: int,
    attributes: tuple[str, ...],
    check_shape: bool,
    timeout: float,
    **asked: Any,
) -> JsonMembers | InTwoParts:
    """Show how often each answer of the survey NAME was given.

    Unbiased estimates are not rounded up to 0, so a rare answer's can lie below it; each interval
    covers the truth of the population in 95 of 100 surveys, if the results are looked at once.
    Other estimators are nearer to the whole distribution and have no interval.
    """
    with waiting(f"estimates of {name}"):
        answer = client.estimates(name, version, **asked)
    entries = attribute_entries(answer)
    called = [names_of_entry(entry) for entry in entries]
    for attribute in attributes:
        if not any(attribute in names for names in called):
            questions = dict.fromkeys(name for names in called for name in names[-1:])
            raise InvalidParameter(
                f"--attribute is {attribute!r}, which survey {name!r} does not ask; its attributes "
                f"are {', '.join(map(str, questions))}",
                field="attribute",
            )
    if attributes:
        kept = [
            entry
            for entry, names in zip(entries, called, strict=True)
            if not {*attributes}.isdisjoint(names)
        ]
        answer["attributes"] = kept
        judge_again(answer, kept)
    read_again(answer)

    def test_shape() -> None:
        click.echo(
            "A worker of the server tests the shape of the reports, for at most "
            f"{timeout:g} s; the estimates are shown in any case.",
            err=True,
        )
        with waiting(f"shape of the reports of {name}") as say:
            answer["shape"] = client.report_shape(
                name, version, timeout=timeout, on_look=job_watch(say)
            )

    if not check_shape:
        return answer
    return InTwoParts(answer, test_shape, lambda both: shape_text(both["shape"]))


@click.command("table")
@statistic_command(TIDY_RESULTS)
def tidy_results(
    client: AnalystClient, name: str, version: int, queries: tuple[str, ...]
) -> JsonMembers:
    """Show the results of the survey NAME as one table, a row an estimate.

    Every statistic has the same columns: statistic, question, category, group, estimate, standard
    error, lower, upper, n, verdict. --out writes them as CSV, JSON, or a workbook with a sheet that
    says how they were made.
    """
    return client.tidy_results(name, version, queries)


@click.command()
@click.argument("name")
@version_option
@out_option("File to write; replaced only once all has arrived.", required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(_EXPORTS),
    help="records: the file that carries its own manifest, which hushpoll train reads; sav and dta "
    "are of SPSS and Stata, with labels. By default what the file's ending names, else records.",
)
@click.option(
    "--content",
    type=click.Choice(["records", "indicators", "debiased"]),
    default="records",
    show_default=True,
    help="Content of a table: what was reported, a 0/1 column for each category, or the same "
    "unbiased: its means are our shares.",
)
@click.option(
    "--raw",
    is_flag=True,
    help="With --format csv: leave texts as they are that a spreadsheet would take for formulas.",
)
@click.option(
    "--cells",
    type=click.Choice(["labels", "codes", "hexadecimal"]),
    help="With --format csv, of records: labels (the default) or codes, and a 0/1 column for each "
    "category where a record does not have one; or the bytes of a record.",
)
@click.option(
    "--language", help="Language of the labels of csv, sav and dta; by default the survey's own."
)
@click.option(
    "--design",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="For a table: JSON or YAML with weights, strata or margins of attributes in clear, which "
    "become the columns weight, stratum and stratum_size.",
)
@analyst_command
def export(
    client: AnalystClient,
    name: str,
    version: int | None,
    out: Path,
    form: str | None,
    content: str,
    raw: bool,
    cells: str | None,
    language: str | None,
    design: Path | None,
) -> Output:
    """Save the records of the survey NAME, with its manifest, in random order and without ids.

    A CSV file has no manifest. A text in it that begins like a formula (= + - @ or a tab) has an
    apostrophe before it, which hushpoll takes off again when it reads such a file.
    """
    known = None if design is None else read_design(design)
    form = _export_format(out, form)
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
                cells=cells,
                language=language,
                design=known,
            )
        file.flush()
        document: JsonMembers = {"survey": name, "version": number}
        if form == "records":
            document |= _checked(file, name, size)
        else:
            document |= {"format": form, "content": content, "bytes": size}
    document["file"] = str(out)
    what = f"{document['records']} records" if form == "records" else f"{form} of the {content}"
    return document, f"{what} of {name} version {number} in {out}"


def _export_format(out: Path, form: str | None) -> str:
    """Return the format that is asked for, or that the file's ending names; both must agree."""
    ending = out.suffix.lower().removeprefix(".")
    if ending in _OTHER_TABLES or (form and ending in _EXPORTS and ending != form):
        instead = f"--format is {form}" if form else "no export has that form"
        endings = form or f"{', '.join(_EXPORTS[:-1])} or {_EXPORTS[-1]}"
        raise InvalidParameter(
            f"--out is {show(str(out))}, and {instead}; give a file that ends in .{endings}",
            field="out",
        )
    return form or (ending if ending in _EXPORTS else "records")


def _checked(file: BinaryIO, name: str, size: int) -> JsonMembers:
    """Read the file's own manifest, and count its rows."""
    file.seek(0)
    try:
        published, n = read_records_header(file)
    except InvalidParameter as error:
        raise ManifestRefused(
            f"the server sent no records of survey {name!r}; check that the address is a hushpoll "
            "server's",
            field=error.field,
        ) from None
    count, rest = divmod(size - file.tell(), published.layout.record_size)
    if rest or n not in (None, count) or published.name != name:
        raise ManifestRefused(
            f"the server sent no whole records of survey {name!r}; try again",
            field="records",
        )
    return {"version": published.version, "digest": published.digest, "records": count}
