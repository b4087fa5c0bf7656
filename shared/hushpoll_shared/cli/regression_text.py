"""A regression as text: the finding first, then the tables."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, asked_lines
from hushpoll_shared.cli.terminal import COLUMNS, new_table, rendered
from hushpoll_shared.spelling.number_texts import (
    decimals_of,
    p_value_text,
    ratio_texts,
    with_decimals,
)
from hushpoll_shared.tables.regressions import references_of, shown_coefficient

if TYPE_CHECKING:
    from rich.table import Table

Document = Mapping[str, Any]


def regression_text(document: Document, questions: Questions = NO_QUESTIONS) -> str:
    """Return a regression, as ``--json`` gives it, in 80 columns; what it found stands first."""
    rows = f"{document['n']:,} rows"
    if document["dropped"]:
        rows += f"; {document['dropped']:,} were left out, since a value of them is missing"
    verdict = document["verdict"]
    noisy = bool(verdict.get("too_noisy"))
    names = [document["outcome"]["name"], *document.get("predictors", ())]
    compared = "; ".join(map(": ".join, references_of(document).items()))
    blocks = [
        [verdict["sentence"]] if noisy else [],
        [f"- {one}" for one in document["sentences"]],
        [
            *asked_lines(names, questions),
            f"{document['formula']}, {document['family']}: {rows}.",
            *([f"Compared with: {compared}."] if compared else []),
            _fitted(document),
            *([] if noisy else [verdict["sentence"]]),
        ],
    ]
    head = "\n\n".join("\n".join(map(_wrapped, block)) for block in blocks if block)
    parts: list[Table | str] = [f"{head}\n", _coefficients(document)]
    if document["plain_is_wrong"]:
        parts.append("\n" + _wrapped(document["plain_is_wrong"]))
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
    climbed, found = document["convergence"], document["log_likelihood"]
    if not climbed["converged"]:
        return f"{text} The fit has not converged: do not use these figures."
    if found is not None:
        text += f" The fit has converged, to the log-likelihood {found:.3f}"
        if climbed["starts"] > 1:
            text += f", from {climbed['agreed']} of {climbed['starts']} starts"
        text += "."
    return text


def _table(*headings: str, labels: int = 1) -> Table:
    return new_table(headings[:labels], headings[labels:], box=None, pad_edge=False)


def _coefficients(document: Document) -> Table:
    rows = document["coefficients"]
    plain = any(one["plain"] for one in rows)
    interval = f"{100 * document['confidence']:g} % interval"
    headings = ["coefficient", "estimate", "std. error", "p", interval]
    table = _table(*headings, *(["plain\n(wrong)"] if plain else []))
    for one in rows:
        shown = shown_coefficient(one)
        cells = [
            one["name"],
            shown.estimate or "no finite maximum",
            shown.standard_error or "-",
            shown.p_value or "-",
            f"{shown.lower or '-inf'} to {shown.upper or 'inf'}",
        ]
        if plain:
            cells.append(shown.plain or "-")
        table.add_row(*cells)
    return table


def _tests(document: Document) -> Table:
    table = _table("term", "test", "statistic", "df", "p", labels=2)
    for one in document["tests"]:
        table.add_row(
            one["term"],
            one["kind"],
            f"{one['statistic']:.3g}",
            str(one["degrees_of_freedom"]),
            p_value_text(one["p_value"]),
        )
    return table


def _adjusted(ratios: Sequence[Document], confidence: float) -> Table:
    interval = f"{100 * confidence:g} % interval"
    table = _table("predictor", "odds ratio", "strata", "p", interval)
    for one in ratios:
        cells = ("too noisy", one["lower"], one["upper"])
        if one["odds_ratio"] is not None:
            cells = ratio_texts(one["odds_ratio"], one["lower"], one["upper"])
        elif one["lower"] is not None or one["upper"] is not None:
            cells = ("too noisy", *ratio_texts(1.0, one["lower"], one["upper"])[1:])
        estimate, lower, upper = cells
        table.add_row(
            one["name"],
            estimate,
            str(one["strata"]),
            "-" if one["p_value"] is None else p_value_text(one["p_value"]),
            f"{lower or '0'} to {upper or 'inf'}",
        )
    return table


def _chances(chances: Sequence[Document], confidence: float) -> Table:
    """Return chances, or differences of chances, as a table."""
    interval = f"{100 * confidence:g} % interval"
    table = _table("values", "of", "chance", "std. error", interval, labels=2)
    for one in chances:
        if one.get("too_noisy"):
            table.add_row(one["what"], one["category"], "too noisy", "-", "-")
            continue
        decimals = decimals_of(one["standard_error"])
        ends = (with_decimals(one[end], decimals) for end in ("lower", "upper"))
        table.add_row(
            one["what"],
            one["category"],
            with_decimals(one["estimate"], decimals),
            with_decimals(one["standard_error"], decimals),
            " to ".join(ends),
        )
    return table


def _wrapped(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(
        line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
