"""``hushpoll records``: statistics of a file of records that export saved, on this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.estimates.cross_table import cross_table as estimate_cross_table
from hushpoll_analysis.estimates.frequencies import Estimates, frequencies
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.multiplicity.dependencies import dependencies as test_all
from hushpoll_analysis.multiplicity.simultaneous import simultaneous_estimates
from hushpoll_analysis.ordered.answered import answered_shares
from hushpoll_analysis.ordered.changes import ordered_change as estimate_ordered_change
from hushpoll_analysis.ordered.summary import ordered_summary
from hushpoll_analysis.ordered.together import simultaneous_means
from hushpoll_analysis.poisoning.report_shape import report_shape
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.relations.changes import change as estimate_change
from hushpoll_analysis.relations.independence import independence as test_independence
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_shared.cli.statistic_commands import (
    ANSWERED,
    CHANGE,
    CROSS_TABLE,
    DEPENDENCIES,
    ESTIMATES,
    INDEPENDENCE,
    JOINT_TABLE,
    MEANS,
    ORDERED,
    ORDERED_CHANGE,
    TOGETHER,
    Statistic,
)
from hushpoll_shared.cli.terminal import json_option, reports_errors, waiting
from hushpoll_shared.querying.result import Result
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.tables.guarantee import guarantee

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
SINCE = click.option(
    "--since", type=_FILE, required=True, help="File of the records to compare with, of before."
)
Compute = Callable[..., Tabular | Result | Mapping[str, Any]]


def records_command(statistic: Statistic) -> Callable[[Compute], Callable[..., None]]:
    """Return what makes a command of a function that computes a statistic from records.

    The function gets the records and the statistic's options, and returns the result, or more than
    it in the same JSON form.
    """

    def decorate(compute: Compute) -> Callable[..., None]:
        @click.argument("file", type=_FILE)
        @statistic.options
        @json_option
        @reports_errors
        @functools.wraps(compute)
        def command(file: Path, out: Path | None, as_json: bool, **asked: Any) -> None:
            with waiting(f"statistics of {file.name}") as say:
                say("reading")
                records = Records.read(file)
                published = records.published
                say(f"computing, {len(records)} records")
                result = compute(records, **asked)
                answer = {
                    "survey": published.name,
                    "version": published.version,
                    "digest": published.digest,
                    "inputs": {"records": file.name},
                    **(result.to_dict() if isinstance(result, Tabular | Result) else result),
                }
            statistic.show(answer, out, as_json=as_json, guarantee=lambda: guarantee(published))

        return command

    return decorate


@click.command()
@click.option(
    "--check-shape",
    is_flag=True,
    help="Also test whether the reports look like those of devices.",
)
@records_command(ESTIMATES)
def estimate(
    records: Records, attributes: tuple[str, ...], check_shape: bool, **asked: Any
) -> Mapping[str, Any]:
    """Show how often each answer was given, from the records of FILE, which export saved.

    The same as hushpoll estimate shows of a survey on a server.
    """
    for name in attributes:
        records.published.attribute(name)
    found = frequencies(records, **asked)
    if attributes:
        found = Estimates(one for one in found if one.name in attributes)
    answer = found.to_dict(shape=check_shape)
    return {**answer, "shape": report_shape(records).to_dict()} if check_shape else answer


@click.command("cross-table")
@records_command(CROSS_TABLE)
def cross_table(records: Records, **asked: Any) -> Tabular:
    """Show the shares of the respondents in each category of A and of B, from records of FILE.

    Shares are unbiased and not rounded up to 0. Each has an interval.
    """
    return estimate_cross_table(records, **asked)


@click.command()
@records_command(INDEPENDENCE)
def independence(records: Records, **asked: Any) -> Tabular:
    """Test whether the attributes A and B are independent, from records of FILE.

    The test allows for the noise of perturbed answers. It has no interval.
    """
    return test_independence(records, **asked)


@click.command()
@SINCE
@records_command(CHANGE)
def change(
    records: Records,
    since: Path,
    since_attribute: str | None,
    since_mapping: Mapping[str, str],
    **asked: Any,
) -> Tabular:
    """Show how the shares of ATTRIBUTE in FILE have changed since those in another file.

    Categories are compared by name, or by the labels that --map and --since-map give them.
    """
    before = Records.read(since)
    return estimate_change(
        before, records, before_attribute=since_attribute, before_mapping=since_mapping, **asked
    )


@click.command()
@records_command(JOINT_TABLE)
def table(records: Records, **asked: Any) -> Tabular:
    """Show the joint table of two or three ATTRIBUTES, from records of FILE."""
    return joint_table(records, **asked)


@click.command()
@records_command(TOGETHER)
def together(records: Records, attribute: str | None, **asked: Any) -> Tabular:
    """Show estimates whose intervals all hold together, from records of FILE."""
    return simultaneous_estimates(records, only=None if attribute is None else [attribute], **asked)


@click.command("all")
@records_command(DEPENDENCIES)
def dependencies(records: Records, **asked: Any) -> Tabular:
    """Test which attributes depend on each other, from records of FILE.

    All pairs of attributes with few categories are tested, and the false discoveries among them are
    bounded by the method of Benjamini and Yekutieli. A test has no interval.
    """
    return test_all(records, **asked)


@click.command()
@records_command(ORDERED)
def ordered(records: Records, **asked: Any) -> Tabular:
    """Show mean and quantiles of the ordered answers to ATTRIBUTE, from records of FILE.

    They are of those who answered. The same as hushpoll ordered shows of a survey on a server.
    """
    return ordered_summary(records, **asked)


@click.command("ordered-change")
@SINCE
@records_command(ORDERED_CHANGE)
def ordered_change(
    records: Records,
    since: Path,
    since_attribute: str | None,
    since_scores: list[Score] | None,
    **asked: Any,
) -> Tabular:
    """Show how mean, share at a threshold and NPS of ATTRIBUTE have changed, from two files.

    They are of those who answered. Both files must have scores of one unit.
    """
    before = Records.read(since)
    return estimate_ordered_change(
        before, records, before_attribute=since_attribute, before_scores=since_scores, **asked
    )


@click.command()
@records_command(MEANS)
def means(records: Records, attributes: tuple[str, ...], **asked: Any) -> Tabular:
    """Show means of several ATTRIBUTES whose intervals all hold together, from records of FILE.

    Without ATTRIBUTES they are of all that have a scale.
    """
    return simultaneous_means(records, attributes=attributes or None, **asked)


@click.command()
@records_command(ANSWERED)
def answered(records: Records, attribute: str | None, **asked: Any) -> Tabular:
    """Show the shares of each answer among those who answered, from records of FILE.

    Where so few have answered that the records cannot tell their shares, the interval has no bound:
    the answer is "cannot conclude".
    """
    names = None if attribute is None else [attribute]
    return answered_shares(records, attributes=names, **asked)
