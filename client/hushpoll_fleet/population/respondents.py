"""The respondents of a simulation: from a file, from a population, or from a function."""

from __future__ import annotations

import csv
import importlib
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.reading.table_reader import Row, TableReader, columns_named, open_table
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.follow_ups import code_answer, routes_of
from hushpoll_shared.survey.questions.selects import Selection, spread_answers

if TYPE_CHECKING:
    from hushpoll_fleet.population.population import Population


def from_file(
    data: Path, manifest: Manifest, ignored: tuple[str, ...], bad_rows: Path | None
) -> SimulatedRespondents:
    """Read a CSV, writing its bad values to a file of their own if there are any."""
    try:
        asked = manifest.expanded
        respondents = read_respondents(
            data, asked.attributes, ignored=ignored, selects=asked.selects
        )
    except BadRows as error:
        if bad_rows is not None:
            with bad_rows.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow(["row", "line", "column", "value", "remedy"])
                writer.writerows(
                    [bad.row, bad.line, *map(escaped, (bad.column, bad.value, bad.remedy))]
                    for bad in error.values
                )
        # A HushpollError would be printed in one line, and these are a list to work through.
        raise click.ClickException(str(error)) from None
    if not len(respondents):
        raise InvalidParameter(
            f"{data} has a header and no rows; give one row per respondent", field="data"
        )
    return respondents


def from_population(
    manifest: Manifest, count: int, seed: int | None
) -> tuple[Population, SimulatedRespondents]:
    """Draw from the population that the manifest describes."""
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "drawing respondents") from None
    from hushpoll_fleet.population.population import Population

    rng = np.random.default_rng(None if seed is None else [seed, 0])
    population = Population.from_manifest(manifest)
    attributes = manifest.expanded.attributes
    return population, SimulatedRespondents(attributes, population.sample(count, rng))


def from_function(
    manifest: Manifest, target: str, count: int, seed: int | None
) -> SimulatedRespondents:
    """Ask a function, ``MODULE:FUNCTION``, for each respondent's answers.

    It is importable from the current folder or the environment, and called with the respondent's
    number, from 0, and a ``random.Random`` of its own. It returns a mapping of attributes to
    categories (None for a missing answer, and for a follow-up that is not asked), and for a
    select-all to the list of options that apply; anything else is refused.
    """
    answer = _function(target)
    asked = manifest.expanded
    names = {attribute.name for attribute in (*manifest.attributes, *asked.attributes)}
    texts = {attribute.name: attribute.question for attribute in asked.attributes}
    routes = routes_of(asked.attributes)
    rows = []
    for number in range(count):
        rng = random.Random() if seed is None else random.Random(f"{seed}/answers/{number}")
        answers = answer(number, rng)
        if not isinstance(answers, dict) or not names.issuperset(answers):
            raise InvalidParameter(
                f"{target} returned for respondent {number} what is no mapping of the survey's "
                f"attributes, which are {', '.join(sorted(names))}; correct the function",
                field="answers-from",
            )
        spread = spread_answers(answers, asked.selects, texts) if asked.selects else answers
        codes: dict[str, int] = {}
        for attribute in asked.attributes:
            given = spread.get(attribute.name)
            codes[attribute.name] = code_answer(attribute, given, codes, routes)
        for select in asked.selects:
            select.check_count(sum(codes[name] for name in select.attributes))
        rows.append(tuple(codes.values()))
    return SimulatedRespondents.of_rows(asked.attributes, rows)


def _function(target: str) -> Any:
    module, colon, name = target.partition(":")
    # Like a script, the command finds modules in the current folder.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidParameter(
            f"--answers-from is {target!r}: {error}; give MODULE:FUNCTION, importable from here",
            field="answers-from",
        ) from None
    if not colon or not callable(function):
        raise InvalidParameter(
            f"--answers-from is {target!r}, which is no function; give MODULE:FUNCTION",
            field="answers-from",
        )
    return function


_SHOWN = 20
_ROW_LENGTH = "(row length)"


@dataclass(frozen=True, slots=True)
class BadValue:
    """One value of a file that the survey does not know."""

    row: int
    """Number of the respondent, from 1; the header is not counted."""

    line: int
    """Line of the file on which the row begins, from 1."""

    column: str
    value: str
    remedy: str
    """Which values are allowed."""

    def __str__(self) -> str:
        return (
            f"row {self.row} (line {self.line}), column {self.column}: {show(self.value)}; "
            f"{self.remedy}"
        )


class BadRows(InvalidParameter):
    """A file of respondents with `values` that the survey does not know; nothing was sent.

    The message shows the first 20.
    """

    def __init__(self, path: Path, values: Sequence[BadValue]) -> None:
        rows = len({value.row for value in values})
        columns = Counter(value.column for value in values)
        counts = ", ".join(f"{count} in {column}" for column, count in columns.most_common())
        lines = [
            f"{word(path)} has {len(values)} bad values in {rows} rows ({counts}); nothing was "
            "sent. Correct them, or write them all to a file with --bad-rows:",
            *(f"  {value}" for value in values[:_SHOWN]),
        ]
        if len(values) > _SHOWN:
            lines.append(f"  … and {len(values) - _SHOWN} more")
        super().__init__("\n".join(lines), field="data")
        self.values = tuple(values)


def read_respondents(
    path: Path,
    attributes: Sequence[Attribute],
    *,
    ignored: Iterable[str] = (),
    selects: Sequence[Selection] = (),
) -> SimulatedRespondents:
    """Read and check a CSV file with a header (UTF-8, comma-separated).

    An attribute with a ``missing`` category may lack its column, unless it is a follow-up; an empty
    value means missing, or not asked. A select-all has a column for each option, within its limits.
    Raises `BadRows` for values that are no categories and rows of another length, and
    `InvalidParameter` for another header or encoding.
    """
    with open_table(path, field="data") as table:
        return _read(path, table, attributes, frozenset(ignored), selects)


def _read(
    path: Path,
    table: TableReader,
    attributes: Sequence[Attribute],
    ignored: frozenset[str],
    selects: Sequence[Selection],
) -> SimulatedRespondents:
    positions = _columns(table, attributes, ignored)
    # A lookup per cell; the slower check words the remedy of the few that fail.
    known: list[Mapping[str, int]] = [
        {}
        if attribute.number is not None
        else {category: code for code, category in enumerate(attribute.domain)}
        for attribute in attributes
    ]
    routes = routes_of(attributes)
    rows: list[tuple[int, ...]] = []
    bad: list[BadValue] = []

    def add(row: Row, column: str, value: str, remedy: str) -> None:
        bad.append(BadValue(row.number, row.line or 0, column, value, remedy))

    def add_length(row: Row, remedy: str) -> None:
        add(row, _ROW_LENGTH, f"{len(row.cells)} values", remedy)

    for row in table.rows(add_length):
        codes: dict[str, int] = {}
        for attribute, position, lookup in zip(attributes, positions, known, strict=True):
            text = "" if position is None else row.cells[position]
            code = lookup.get(text) if attribute.ask_if is None else None
            if code is None:
                if routes.get(attribute.name, ("", frozenset()))[0] not in {"", *codes}:
                    continue  # the router's value is bad, and is told
                try:
                    code = code_answer(attribute, text or None, codes, routes)
                except InvalidParameter as error:
                    _, _, remedy = str(error).rpartition("; ")
                    add(row, attribute.name, text, remedy)
                    continue
            codes[attribute.name] = code
        for select in selects:
            count = sum(codes.get(name, 0) for name in select.attributes)
            if not select.at_least <= count <= select.at_most and codes.keys() >= set(
                select.attributes
            ):
                add(
                    row,
                    f"{select.attributes[0]} to {select.attributes[-1]}",
                    f"{count} options selected",
                    f"select {select.limits()}",
                )
        rows.append(tuple(codes.values()))
    if bad:
        raise BadRows(path, bad)
    return SimulatedRespondents.of_rows(attributes, rows)


def _columns(
    table: TableReader, attributes: Sequence[Attribute], ignored: frozenset[str]
) -> list[int | None]:
    names, header = [attribute.name for attribute in attributes], table.header
    for column in header:
        if column not in names and column not in ignored:
            raise table.refusal(
                f"has the column {show(column)}, which the survey does not ask; remove it, or pass "
                f"--ignore {word(column)}. The survey's attributes are {', '.join(names)}"
            )
    for name in sorted(ignored):
        if name in names:
            raise InvalidParameter(
                f"--ignore names {name!r}, an attribute of the survey; leave it out", field="ignore"
            )
    positions: list[int | None] = []
    for attribute in attributes:
        if attribute.name in header:
            positions.append(header.index(attribute.name))
        elif attribute.missing is not None and attribute.ask_if is None:
            positions.append(None)
        else:
            raise table.refusal(
                f"has no column {attribute.name!r}, "
                + (
                    "and the survey gives it no category for a missing answer"
                    if attribute.ask_if is None
                    else "a follow-up, whose values are empty where it is not asked"
                )
                + f"; add the column. The file's columns are {columns_named(header)}"
            )
    return positions
