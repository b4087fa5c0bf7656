"""``hushpoll records``: estimates and cross-tables of a file of records, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.estimates.cross_table import cross_table
from hushpoll_analysis.estimates.estimators import terms_of
from hushpoll_analysis.estimates.frequencies import frequencies, how_to_read
from hushpoll_analysis.records.records import Records
from hushpoll_shared.cli.estimates_text import cross_table_text, estimates_text, estimator_option
from hushpoll_shared.cli.fairness_options import confidence_option
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_FILE)
@click.option("--attribute", "attributes", multiple=True, help="Only this one; may be repeated.")
@estimator_option
@confidence_option
@json_option
@reports_errors
def estimate(
    file: Path,
    attributes: tuple[str, ...],
    estimator: str,
    confidence: float,
    as_json: bool,
) -> None:
    """Show how often each answer was given, from the records of FILE, which export saved.

    The same as hushpoll estimate shows of a survey on a server.
    """
    records = Records.read(file)
    for name in attributes:
        records.published.attribute(name)
    estimated = [
        estimate.to_dict()
        for estimate in frequencies(records, confidence=confidence, estimator=estimator)
        if not attributes or estimate.name in attributes
    ]
    intervals = sum(len(attribute["categories"]) for attribute in estimated)
    document = {
        **_heading(file, records, confidence),
        "estimator": estimator,
        "intervals": terms_of(estimator).no_interval or how_to_read(intervals, confidence),
        "attributes": estimated,
    }
    emit(document, lambda: estimates_text(document), as_json=as_json)


@click.command("cross-table")
@click.argument("file", type=_FILE)
@click.argument("a")
@click.argument("b")
@confidence_option
@json_option
@reports_errors
def cross_table_command(file: Path, a: str, b: str, confidence: float, as_json: bool) -> None:
    """Show the shares of the respondents in each category of A and of B, from records of FILE.

    Shares are unbiased and not rounded up to 0. Each has an interval.
    """
    records = Records.read(file)
    table = cross_table(records, a, b, confidence=confidence)
    document = {
        **_heading(file, records, confidence),
        "a": a,
        "b": b,
        "intervals": how_to_read(table.frequency.size, confidence),
        "cells": table.cells(),
        "poisoning": table.poisoning.to_dict(),
    }
    emit(document, lambda: cross_table_text(document), as_json=as_json)


def _heading(file: Path, records: Records, confidence: float) -> dict[str, Any]:
    published = records.published
    return {
        "survey": published.name,
        "version": published.version,
        "digest": published.digest,
        "inputs": {"records": file.name},
        "n": len(records),
        "confidence": confidence,
    }
