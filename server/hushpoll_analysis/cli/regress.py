"""``hushpoll regress data`` and ``hushpoll records regress``: regressions from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.cli.weighting import weights_of_records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.model_options import regression_options
from hushpoll_shared.cli.out_file import save_table
from hushpoll_shared.cli.regression_text import regression_text
from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors, waiting
from hushpoll_shared.reading.pairs import read_pairs
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.option_texts import question_texts
from hushpoll_shared.tables.regressions import regression_table

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("data")
@click.argument("file", type=_FILE)
@click.option(
    "--law",
    "laws",
    multiple=True,
    metavar="COLUMN=LAW.csv",
    help="The law of a randomised column: the first column of LAW.csv has the recorded values, "
    "each other column the chances given one true value. May be repeated.",
)
@click.option(
    "--law-by",
    "by",
    multiple=True,
    metavar="COLUMN=GROUP",
    help="The law of COLUMN differs between groups of respondents, such as two samples: the "
    "column GROUP of FILE says which one a row has, and is the first column of its LAW.csv. May "
    "be repeated.",
)
@click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="A cell with this text is empty, such as NA. May be repeated.",
)
@click.option("--weight-column", metavar="COLUMN", help="Column of FILE with survey weights.")
@click.option(
    "--cluster-column", metavar="COLUMN", help="Column of FILE that says which rows go together."
)
@regression_options
@json_option
@reports_errors
def data(
    file: Path,
    laws: tuple[str, ...],
    by: tuple[str, ...],
    missing: tuple[str, ...],
    weight_column: str | None,
    cluster_column: str | None,
    formula: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Fit a regression to FILE, a table of CSV or Parquet with randomised columns.

    The answers may have been randomised by cards, dice or a protocol: a law says how. A column in
    clear whose values are all numbers is a number; a row with an empty cell is left out.
    """
    from hushpoll_analysis.regression.tables import LAW, read_answers

    pairs = read_pairs(laws, field="--law", form="COLUMN=LAW.csv")
    by_column = {column: Path(law) for column, law in pairs.items()}
    hanging = read_pairs(by, field="--law-by", form="COLUMN=GROUP")
    with waiting(f"regression of {file.name}") as say:
        say("reading")
        answers = read_answers(
            file,
            by_column,
            formula,
            by=hanging,
            missing=missing,
            weight=weight_column,
            cluster=cluster_column,
        )
        head: JsonMembers = {"inputs": {"data": file.name, LAW: sorted(map(str, laws))}}
        _fitted(
            answers,
            formula,
            head,
            say,
            inputs=[file, *by_column.values()],
            as_json=as_json,
            **asked,
        )


@click.command("regress")
@click.argument("file", type=_FILE)
@weights_of_records
@regression_options
@json_option
@reports_errors
def of_records(
    file: Path,
    weights_file: Path | None,
    weight_column: str,
    formula: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Fit a regression to the records of FILE, which export saved.

    Attributes are named as in the manifest, perturbed or in clear; of perturbed ones the law is
    known. An attribute in clear whose three or more categories are all numbers is a number; C(age)
    makes categories of it.
    """
    from hushpoll_analysis.cli.weighting import read_weights
    from hushpoll_analysis.records.records import Records
    from hushpoll_analysis.regression.survey import answers_of

    with waiting(f"regression of {file.name}") as say:
        say("reading")
        records = Records.read(file)
        weights = None if weights_file is None else read_weights(weights_file, weight_column)
        answers = answers_of(records, formula, weights=weights)
        head: JsonMembers = {
            "survey": records.published.name,
            "version": records.published.version,
            "digest": records.published.digest,
            "inputs": {"records": file.name},
        }
        read = [file] if weights_file is None else [file, weights_file]
        questions = question_texts(records.published)
        _fitted(
            answers,
            formula,
            head,
            say,
            inputs=read,
            questions=questions,
            as_json=as_json,
            **asked,
        )


def _fitted(
    answers: Any,
    formula: str,
    head: JsonObject,
    say: Callable[[str], None],
    *,
    inputs: Sequence[Path],
    questions: Questions = NO_QUESTIONS,
    as_json: bool,
    out: Path | None,
    stated: tuple[str, ...],
    **asked: Any,
) -> None:
    from hushpoll_analysis.regression.model import fit

    values = read_pairs(stated, field="--at", form="NAME=VALUE")
    for one in inputs:
        if out is not None and out.resolve() == one.resolve():
            raise InvalidParameter(
                f"out is {show(str(out))}, which is read; give another file", field="out"
            )
    found = fit(formula, answers, tell=say, **asked)
    chances = found.predicted(values) if values else []
    document = {
        **head,
        **found.to_dict(),
        "predicted": [chance.to_dict() for chance in chances],
    }
    text = [regression_text(document, questions)]
    if out is not None:
        save_table(document, lambda: regression_table(document), out)
        text.append(f"\nThe table is in {out}.")
    emit(document, "\n".join(text), as_json=as_json)
