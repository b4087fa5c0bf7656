"""``hushpoll card``: writes the card of a saved model again, from the record of its run."""

from __future__ import annotations

from pathlib import Path

import click

from hushpoll_shared.cli.out_file import write_text
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_training.reports.card import model_card
from hushpoll_training.reports.pages import card_page
from hushpoll_training.runs.saved import CARD_PAGE, read_run


@click.command()
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"HTML file to write.  [default: {CARD_PAGE} in MODEL]",
)
@json_option
@reports_errors
def card(model: Path, out: Path | None, as_json: bool) -> None:
    """Make the card of MODEL, a directory that train --out wrote, as HTML; as JSON with --json.

    It says what the model predicts, which survey and epsilon it comes from, how good and how fair
    it was measured to be, and what must not be concluded from that.
    """
    document = model_card(read_run(model))
    path = model / CARD_PAGE if out is None else out
    if not as_json:
        write_text(path, card_page(document))
    emit(document, lambda: f"The card is in {path}.", as_json=as_json)
