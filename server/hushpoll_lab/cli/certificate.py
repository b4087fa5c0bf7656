"""``hushpoll fairness certificate``: how fair a private model would be without its noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from hushpoll_lab.certificates.margins import TIGHTNESS
from hushpoll_lab.learners.private_model import FAILURE, certify_model
from hushpoll_shared.cli.out_file import save_table, table_out_option
from hushpoll_shared.cli.terminal import emit, json_option, rendered, reports_errors
from hushpoll_training.cli.options import FILE, ignore_option
from hushpoll_training.data.rows import read_rows
from hushpoll_training.reports.tables import certificate_table
from hushpoll_training.runs.saved import load_model


@click.command()
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("file", type=FILE)
@click.option(
    "--groups", metavar="ATTRIBUTE", help="What tells groups apart.  [default: the protected one]"
)
@click.option(
    "--failure",
    type=float,
    default=FAILURE,
    show_default=True,
    help="The chance at most, over the noise, that a bound is wrong.",
)
@click.option(
    "--bound",
    type=click.Choice(TIGHTNESS),
    default="share",
    show_default=True,
    help="The least one, or the paper's looser ones.",
)
@ignore_option
@table_out_option
@json_option
@reports_errors
def certificate(
    model: Path,
    file: Path,
    groups: str | None,
    failure: float,
    bound: Any,
    ignore: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Bound the fairness that MODEL would have without its noise, on the rows in clear of FILE.

    MODEL is a directory that train --out wrote, of the learner output-perturbation or
    penalised-dpsgd. Training without noise would have given other weights, and nobody but the
    trainer knows them. They are close to the private ones, so their predictions can differ only
    where the private margin is small. Groups are compared with all rows.
    """
    loaded = load_model(model, trial=True)
    codes = read_rows(file, loaded.published, option="file", ignored=ignore)
    found = certify_model(loaded, codes, groups=groups, failure=failure, tightness=bound)
    document = {
        **found.to_json(),
        "inputs": {"model": model.name, "rows": file.name},
        "versions": loaded.fitted.learner.versions(),
    }
    if out is not None:
        save_table(document, lambda: certificate_table(document), out)
    emit(document, lambda: _text(document), as_json=as_json)


def _text(document: dict[str, Any]) -> str:
    table = Table(box=None, pad_edge=False)
    for heading in ("notion", "group"):
        table.add_column(heading)
    for heading in ("private", "without noise"):
        table.add_column(heading, justify="right", no_wrap=True)
    lines: list[str | Table] = [
        f"With {100 * document['confidence']:.4g} % probability over its noise, the model's "
        f"weights are within {document['distance']:.4g} of those without noise.",
        f"On these {document['rows']} rows, the model without noise then lies in all of these "
        f"intervals. Groups are those of {document['attribute']}; 0 is no difference between a "
        "group and all rows. Accuracy is the share of correct predictions.",
        "",
        table,
    ]
    for level in document["levels"]:
        group = level["group"] or "all rows"
        if level["notion"] == "equalized_odds":
            group = f"{group}, {level['label']}"
        interval = f"[{level['lower']:+.4f}, {level['upper']:+.4f}]"
        if level["vacuous"]:
            interval = "nothing is known"
        table.add_row(level["notion_is"], group, f"{level['private']:+.4f}", interval)
    if all(level["vacuous"] for level in document["levels"]):
        lines += ["", "More rows to train on, or a larger epsilon or penalty, give a certificate."]
    return rendered(*lines, "", document["publishing"])
