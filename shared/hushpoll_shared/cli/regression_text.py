"""A regression as text: the finding first, then the tables."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hushpoll_shared.cli.terminal import COLUMNS, rendered

if TYPE_CHECKING:
    from rich.table import Table

Document = Mapping[str, Any]


def regression_text(document: Document) -> str:
    """Return a regression, as ``--json`` gives it, as text of at most 80 columns."""
    rows = f"{document['n']:,} rows"
    if document["dropped"]:
        rows += f"; {document['dropped']:,} were left out, since a value of them is missing"
    head = [
        document["verdict"]["sentence"],
        f"{document['formula']}, {document['family']}: {rows}.",
        _fitted(document),
    ]
    parts: list[Table | str] = ["\n".join(map(_wrapped, head)) + "\n", _coefficients(document)]
    if document["plain_is_wrong"]:
        parts.append("\n" + _wrapped(document["plain_is_wrong"]))
    if document["sentences"]:
        parts.append("\n" + "\n".join(_wrapped(f"- {one}") for one in document["sentences"]))
    if document["tests"]:
        parts += ["\n" + "Tests that all slopes of a term are 0", _tests(document)]
    confidence = document["confidence"]
    if document.get("adjusted_odds_ratios"):
        parts += [
            "\n"
            + _wrapped(
                "Adjusted odds ratios of Mantel and Haenszel: the other predictors are strata, and "
                "nothing else is assumed of them"
            ),
            _adjusted(document["adjusted_odds_ratios"], confidence),
        ]
    if document["marginal_effects"]:
        parts += [
            "\n" + _wrapped("Average marginal effects on the chance"),
            _chances(document["marginal_effects"], confidence),
        ]
    if document.get("adjusted"):
        parts += [
            "\n" + _wrapped("Average chances if all respondents gave the same answer"),
            _chances(document["adjusted"], confidence),
        ]
    if document["predictors_model"]:
        parts.append(
            "\n"
            + _wrapped(
                "The perturbed predictors have a model of their own given those in clear; --json "
                "has its coefficients."
            )
        )
    notes = [*document.get("small_groups", ()), *document["notes"]]
    parts += ["\n" + _wrapped(f"Note: {note}") for note in notes]
    if document.get("predicted"):
        parts += ["\nPredicted chances", _chances(document["predicted"], confidence)]
    return rendered(*parts)


def _fitted(document: Document) -> str:
    perturbed = ", ".join(document["perturbed"]) or "none"
    text = f"Randomised: {perturbed}. Standard errors: {document['standard_errors']}."
    if document["log_likelihood"] is not None:
        text += f" Log-likelihood {document['log_likelihood']:.4f}."
    climbed = document["convergence"]
    if climbed["starts"] > 1:
        text += f" {climbed['agreed']} of {climbed['starts']} starts led to this maximum."
    return text


def _table(*headings: str, labels: int = 1) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        number = place >= labels
        table.add_column(heading, no_wrap=number, justify="right" if number else "left")
    return table


def _coefficients(document: Document) -> Table:
    rows = document["coefficients"]
    plain = any(one["plain"] for one in rows)
    interval = f"{100 * document['confidence']:g} % interval"
    headings = ["coefficient", "estimate", "std. error", "p", interval]
    table = _table(*headings, *(["plain\n(wrong)"] if plain else []))
    for one in rows:
        ends = f"{_end(one['lower'], '-inf')} to {_end(one['upper'], 'inf')}"
        error = one["standard_error"]
        cells = [
            one["name"],
            "no finite maximum" if one["estimate"] is None else f"{one['estimate']:.4f}",
            "-" if error is None else f"{error:.4f}",
            "-" if one["p_value"] is None else f"{one['p_value']:.3g}",
            ends,
        ]
        if plain:
            cells.append(f"{one['plain']['estimate']:.4f}" if one["plain"] else "-")
        table.add_row(*cells)
    return table


def _tests(document: Document) -> Table:
    table = _table("term", "test", "statistic", "df", "p", labels=2)
    for one in document["tests"]:
        table.add_row(
            one["term"],
            one["kind"],
            f"{one['statistic']:.3f}",
            str(one["degrees_of_freedom"]),
            f"{one['p_value']:.3g}",
        )
    return table


def _adjusted(ratios: Sequence[Document], confidence: float) -> Table:
    interval = f"{100 * confidence:g} % interval"
    table = _table("predictor", "odds ratio", "strata", "p", interval)
    for one in ratios:
        table.add_row(
            one["name"],
            "too noisy" if one["odds_ratio"] is None else f"{one['odds_ratio']:.4f}",
            str(one["strata"]),
            "-" if one["p_value"] is None else f"{one['p_value']:.3g}",
            f"{_end(one['lower'], '0')} to {_end(one['upper'], 'inf')}",
        )
    return table


def _chances(chances: Sequence[Document], confidence: float) -> Table:
    """Return chances, or differences of chances, as a table."""
    interval = f"{100 * confidence:g} % interval"
    table = _table("values", "of", "chance", "std. error", interval, labels=2)
    for one in chances:
        table.add_row(
            one["what"],
            one["category"],
            f"{one['estimate']:.4f}",
            f"{one['standard_error']:.4f}",
            f"{one['lower']:.4f} to {one['upper']:.4f}",
        )
    return table


def _end(value: float | None, none: str) -> str:
    return none if value is None else f"{value:.4f}"


def _wrapped(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(
        line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
