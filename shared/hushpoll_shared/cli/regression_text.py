"""A regression as text: the finding first, then the tables."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, asked_lines
from hushpoll_shared.cli.terminal import COLUMNS, rendered
from hushpoll_shared.spelling.digits import decimals_of, ratio_texts, with_decimals

if TYPE_CHECKING:
    from rich.table import Table

Document = Mapping[str, Any]


def regression_text(document: Document, questions: Questions = NO_QUESTIONS) -> str:
    """Return a regression, as ``--json`` gives it, as text of at most 80 columns.

    What was found stands first, unless something is too noisy to tell.
    """
    rows = f"{document['n']:,} rows"
    if document["dropped"]:
        rows += f"; {document['dropped']:,} were left out, since a value of them is missing"
    verdict = document["verdict"]
    noisy = bool(verdict.get("too_noisy"))
    names = [document["outcome"]["name"], *document.get("predictors", ())]
    blocks = [
        [verdict["sentence"]] if noisy else [],
        [f"- {one}" for one in document["sentences"]],
        [
            *asked_lines(names, questions),
            f"{document['formula']}, {document['family']}: {rows}.",
            *_references(document),
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


def _references(document: Document) -> list[str]:
    """Return a line of the answers that others are compared with."""
    outcome, family = document["outcome"], document["family"]
    found: dict[str, str] = {}
    for one in document["coefficients"]:
        for part in one.get("compares", ()):
            if part["reference"] is not None:
                found[part["predictor"]] = part["reference"]
    if outcome["categories"] and family != "ordered":
        found = {outcome["name"]: outcome["categories"][0], **found}
    return [f"Compared with: {'; '.join(map(': '.join, found.items()))}."] if found else []


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
        error = one["standard_error"]
        if error is None and one["lower"] is not None and one["upper"] is not None:
            error = (one["upper"] - one["lower"]) / 4
        decimals = decimals_of(error)
        cells = [
            one["name"],
            _number(one["estimate"], decimals, "no finite maximum"),
            _number(one["standard_error"], decimals, "-"),
            _p_value(one["p_value"]),
            " to ".join(
                _number(one[end], decimals, none)
                for end, none in (("lower", "-inf"), ("upper", "inf"))
            ),
        ]
        if plain:
            cells.append(_number(one["plain"] and one["plain"]["estimate"], decimals, "-"))
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
            _p_value(one["p_value"]),
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
            _p_value(one["p_value"]),
            f"{lower or '0'} to {upper or 'inf'}",
        )
    return table


def _chances(chances: Sequence[Document], confidence: float) -> Table:
    """Return chances, or differences of chances, as a table."""
    interval = f"{100 * confidence:g} % interval"
    table = _table("values", "of", "chance", "std. error", interval, labels=2)
    for one in chances:
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


def _number(value: float | None, decimals: int, none: str) -> str:
    return none if value is None else with_decimals(value, decimals)


def _p_value(value: float | None) -> str:
    """Return a p-value with two digits; below .0001 only that it is below."""
    if value is None:
        return "-"
    return "<.0001" if value < 0.0001 else f"{value:.2g}"


def _wrapped(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(
        line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
