"""A regression as text: the finding first, then the tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushpoll_shared.cli.terminal import COLUMNS, rendered

if TYPE_CHECKING:
    from rich.table import Table

    from hushpoll_analysis.regression.effects import Chance
    from hushpoll_analysis.regression.result import Regression


def text_of(result: Regression) -> str:
    """Return a regression as text, at most 80 columns wide."""
    rows = f"{result.n:,} rows"
    if result.dropped:
        rows += f"; {result.dropped:,} were left out, since a value of them is missing"
    head = [
        result.verdict["sentence"],
        f"{result.formula}, {result.family}: {rows}.",
        _fitted(result),
    ]
    parts: list[Table | str] = ["\n".join(map(_wrapped, head)) + "\n", _coefficients(result)]
    if result.plain_sentence:
        parts.append("\n" + _wrapped(result.plain_sentence))
    if result.sentences():
        parts.append("\n" + "\n".join(_wrapped(f"- {one}") for one in result.sentences()))
    if result.tests:
        parts += ["\n" + "Tests that all slopes of a term are 0", _tests(result)]
    if result.effects:
        parts += [
            "\n" + _wrapped("Average marginal effects on the chance"),
            chances_table(result.effects, result.confidence),
        ]
    if result.mixing:
        parts.append(
            "\n"
            + _wrapped(
                "The perturbed predictors have a model of their own given those in clear; --json "
                "has its coefficients."
            )
        )
    parts += ["\n" + _wrapped(f"Note: {note}") for note in result.notes]
    return rendered(*parts)


def _fitted(result: Regression) -> str:
    perturbed = ", ".join(result.perturbed) or "none"
    text = f"Randomised: {perturbed}. Standard errors: {result.standard_errors}."
    if result.log_likelihood is not None:
        text += f" Log-likelihood {result.log_likelihood:.4f}."
    if result.starts > 1:
        text += f" {result.agreed} of {result.starts} starts led to this maximum."
    return text


def _table(*headings: str, labels: int = 1) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        number = place >= labels
        table.add_column(heading, no_wrap=number, justify="right" if number else "left")
    return table


def _coefficients(result: Regression) -> Table:
    plain = {one.name: one for one in result.plain}
    interval = f"{100 * result.confidence:g} % interval"
    headings = ["coefficient", "estimate", "std. error", "p", interval]
    table = _table(*headings, *(["plain"] if plain else []))
    for one in result.coefficients:
        ends = f"{_end(one.lower, '-inf')} to {_end(one.upper, 'inf')}"
        cells = [
            one.name,
            "no finite maximum" if one.estimate is None else f"{one.estimate:.4f}",
            "-" if one.standard_error is None else f"{one.standard_error:.4f}",
            "-" if one.p_value is None else f"{one.p_value:.3g}",
            ends,
        ]
        if plain:
            cells.append(f"{plain[one.name].estimate:.4f}" if one.name in plain else "-")
        table.add_row(*cells)
    return table


def _tests(result: Regression) -> Table:
    table = _table("term", "test", "statistic", "df", "p", labels=2)
    for one in result.tests:
        table.add_row(
            one.term,
            one.kind,
            f"{one.statistic:.3f}",
            str(one.degrees_of_freedom),
            f"{one.p_value:.3g}",
        )
    return table


def chances_table(chances: Sequence[Chance], confidence: float) -> Table:
    """Return chances, or differences of chances, as a table."""
    interval = f"{100 * confidence:g} % interval"
    table = _table("values", "of", "chance", "std. error", interval, labels=2)
    for one in chances:
        table.add_row(
            one.what,
            one.category,
            f"{one.estimate:.4f}",
            f"{one.standard_error:.4f}",
            f"{one.lower:.4f} to {one.upper:.4f}",
        )
    return table


def _end(value: float | None, none: str) -> str:
    return none if value is None else f"{value:.4f}"


def _wrapped(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(
        line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
