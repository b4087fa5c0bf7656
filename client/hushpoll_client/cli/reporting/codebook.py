"""``hushpoll codebook``: every question of a survey, how it was sent, and its shares."""

from __future__ import annotations

from pathlib import Path

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import analyst_command, version_of, version_option
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import emit, waiting

_FORMATS = {".html": "html", ".md": "md", ".json": "json"}


def _ending(out: Path) -> None:
    if out.suffix.lower() not in _FORMATS:
        raise InvalidParameter(
            f"--out is {str(out)!r}, whose ending names no codebook; give a file that ends in "
            f"{', '.join(_FORMATS)}",
            field="out",
        )


@click.command()
@click.argument("name")
@version_option
@out_option(
    "File to write; it ends in .html, .md or .json. [default: NAME-codebook.html]", check=_ending
)
@analyst_command
def codebook(
    client: AnalystClient, name: str, version: int | None, out: Path | None, as_json: bool
) -> None:
    """Write the codebook of the survey NAME.

    It has every question in every language, its codes, block, protocol, epsilon and law, how to
    de-bias what is exported, and the shares of the last release with their intervals.
    """
    number = version_of(client, name, version)
    path = out or Path(f"{name}-codebook.html")
    with waiting(f"codebook of {name}"), replacing(path) as file:
        size = client.codebook_file(name, number, file.write, format=_FORMATS[path.suffix.lower()])
    document = {"survey": name, "version": number, "file": str(path), "bytes": size}
    emit(document, f"The codebook of {name} version {number} is in {path}.", as_json=as_json)
