"""The file of a survey design, and weighted shares as text (extra ``cli``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, asked_lines, with_three_digits
from hushpoll_shared.cli.terminal import new_table, rendered
from hushpoll_shared.qualifying.possible import cut_words, shown_share
from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.qualifying.verdict import not_shown, part_is_noisy
from hushpoll_shared.reading.table_reader import NumberColumn, Row, TableReader, open_table
from hushpoll_shared.reading.text_files import read_document, word
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published

MOST_BYTES: Final = 1 << 22
"""The largest file of cell weights; 65,536 cells take less."""


def read_design(
    path: Path | None, cell_weights: Path | None = None, published: Published | None = None
) -> JsonMembers:
    """Return a file's design, empty without a file; refuses weights in both files."""
    design = {} if path is None else _read(path)
    if cell_weights is not None:
        if design.get("weights") is not None:
            raise InvalidParameter(
                f"the design {path} has weights, and {cell_weights} has some, too; leave one of "
                "the two out",
                field="weights",
            )
        design = {**design, "weights": read_cell_weights(cell_weights, published)}
    return design


def read_cell_weights(path: Path, published: Published | None = None) -> dict[str, Any]:
    """Read weights of the cells of attributes in clear from a CSV of at most 4 MiB.

    The first row names the attributes, and last the column of weights, whatever its name. Each
    other row is a cell, once. A survey that is at hand says which categories there are.
    """
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise InvalidParameter(
            f"{word(path)} has {size} bytes, and a table of weights may have {MOST_BYTES}; "
            "weights are given by attributes in clear, a row for each cell, and not for each "
            "respondent",
            field="weights",
        )
    with open_table(path, field="weights") as table:
        *attributes, last = table.header
        if not attributes:
            raise table.refusal(
                f"has the one column {show(last)}; its first row must name one attribute or "
                "several, and last the column of weights, such as region,weight"
            )
        numbers = NumberColumn(table, len(attributes))
        rows = [
            [*row.cells[:-1], numbers.number(row)] for row in _cells(table, attributes, published)
        ]
        numbers.check()
    return {"attributes": attributes, "rows": rows}


def _cells(table: TableReader, attributes: list[str], published: Published | None) -> Iterator[Row]:
    """Yield the rows of cell weights, if each is of another cell, and of one that there is."""
    domains = [] if published is None else [published.attribute(name).domain for name in attributes]
    seen: dict[tuple[str, ...], Row] = {}
    for row in table.rows():
        for name, domain, category in zip(attributes, domains, row.cells, strict=False):
            if category not in domain:
                raise table.refused(
                    row,
                    name,
                    f"{show(category)} is no category; give one of "
                    f"{', '.join(map(show, domain[:12]))}",
                )
        cell = tuple(row.cells[:-1])
        if cell in seen:
            raise table.refusal(
                f"{row.place} has the cell {', '.join(map(show, cell))} again, after "
                f"{seen[cell].place}; give each cell one weight"
            )
        seen[cell] = row
        yield row


def _read(path: Path) -> JsonMembers:
    document = read_document(path, field="design", noun="the design")
    if not isinstance(document, dict):
        raise InvalidParameter(
            f"the design {path} is no object; give such as "
            '{"margins": [{"attributes": ["region"], "shares": {"North": 0.4, "South": 0.6}}]}',
            field="design",
        )
    return document


def weighted_shares_text(answer: Mapping[str, Any], questions: Questions = NO_QUESTIONS) -> str:
    """Return weighted shares beside the unweighted ones as a table for each attribute."""
    several = answer.get("attributes")
    results = [answer] if several is None else several
    verdict = answer.get("verdict")  # results that were kept before have none
    sentence = [] if verdict is None else [str(verdict["sentence"])]
    noisy = any(part_is_noisy(verdict, one["attribute"]) for one in results)
    parts: list[Table | str] = [*sentence, ""] if noisy else []
    parts.append(heading(answer))
    parts += asked_lines((str(one["attribute"]) for one in results), questions)
    told = [one for one in results if not part_is_noisy(verdict, one["attribute"])]
    for result in told:
        parts += _of_attribute(result)
    parts += not_shown(sum(len(one["shares"]) for one in results if one not in told))
    parts += [] if noisy else sentence
    shown = [row for result in told for row in result["shares"] if row["value"] is not None]
    if shown:
        parts.append(how_to_read(len(shown), float(answer["confidence"])))
    if cut := cut_words(shown):
        parts.append(cut)
    return rendered(*parts, *([str(answer["assumption"])] if told else []))


def _of_attribute(answer: Mapping[str, Any]) -> list[Table | str]:
    level = f"{100 * float(answer['confidence']):g} % interval"
    rows = answer["shares"]
    with_totals = any(row["total"] is not None for row in rows)
    headings = ["weighted", "std. error", level, "unweighted", *(["people"] if with_totals else [])]
    table = new_table(("category",), headings, title=str(answer["attribute"]))
    for row in rows:
        numbers = ["", "", "cannot conclude"]
        if row["value"] is not None:
            within = shown_share(row)
            numbers = [
                with_three_digits(row["value"]),
                with_three_digits(row["standard_error"]),
                f"{with_three_digits(within['lower'])} to {with_three_digits(within['upper'])}",
            ]
        people = row["total"]
        if with_totals:
            known = people is not None and people["value"] is not None
            total = f"{people['value']:,.0f}" if known else ""
        table.add_row(
            str(row["category"]),
            *numbers,
            with_three_digits(row["unweighted"]["value"]),
            *([total] if with_totals else []),
        )
    parts: list[Table | str] = [table]
    if answer["cannot_conclude"] is not None:
        parts.append(str(answer["cannot_conclude"]))
    else:
        parts.append(
            f"The records are worth {float(answer['effective_n']):.0f} of one weight (Kish). "
            f"The margins change a weight by a factor from {float(answer['smallest_factor']):.3g} "
            f"to {float(answer['largest_factor']):.3g}."
        )
    return parts
