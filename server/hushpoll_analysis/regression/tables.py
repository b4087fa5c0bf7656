"""Rows that people bring: a table of CSV or Parquet, and the law of each randomised column.

A law is a table of its own: the first column has the recorded values, and each other column, named
after a true value, the chance of each recorded value given that true one. Where groups of
respondents have laws of their own, such as two samples asked by different cards, a column before
the first has the group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.frames.parquet_cells import is_parquet, parquet_header, parquet_texts
from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Patterns,
    Unit,
    patterns_of_law,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.terms.formulas import FIELD, Formula, read_formula
from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import (
    doubtful_point,
    has_doubtful_point,
    parse_number,
)
from hushpoll_shared.reading.table_reader import (
    Row,
    TableReader,
    column_place,
    columns_named,
    open_table,
)
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.spelling.nearest import nearest_name, remedy_for
from hushpoll_shared.spelling.text import show

Array = npt.NDArray[np.float64]

DATA: Final = "data"
LAW: Final = "law"
MOST_CATEGORIES: Final = 1_000
"""Categories of a column in clear."""
_MANY: Final = 100
"""Categories of a column of texts that the formula has without C()."""
_ROWS: Final = 65_536
_FRACTION: Final = re.compile(r"([0-9]{1,9}) ?/ ?([1-9][0-9]{0,8})")
_UNKNOWN: Final = frozenset({"NA", "N/A", "#N/A", "NaN", "nan", "NULL", "."})
"""What other programs write for a value that is missing."""
_NO_NUMBER: Final = _UNKNOWN | {"inf", "Inf", "INF", "infinity", "NAN"}
_IF_MISSING: Final = (
    "if the value is missing, leave the cell empty, or name the text among the missing ones"
)


@dataclass(frozen=True)
class Law:
    """The law of a randomised column."""

    recorded: tuple[str, ...]
    """Recorded values; `domain` has the true ones."""
    domain: tuple[str, ...]
    patterns: Patterns
    """What each recorded value says."""
    groups: tuple[str, ...] | None = None
    """The group that each recorded value is of, where groups have laws of their own."""


def read_law(path: Path, by: str | None = None) -> Law:
    """Read the law of a randomised column from CSV; column `by` says which law a row has."""
    with open_table(path, field=LAW) as table:
        first = 0 if by is None else 1
        if by is not None and table.header[0] != by:
            raise InvalidParameter(
                f"the first column of {table.name} is {show(table.header[0])}, and the law hangs "
                f"on {show(by)}; name the first column so, with its values, and let the recorded "
                "values follow",
                field=LAW,
            )
        if len(table.header) < first + 3:
            raise InvalidParameter(
                f"{table.name} has {len(table.header)} columns; a law has the recorded values in "
                f"its {'first' if by is None else 'second'} column, and a column for each of two "
                "or more true values",
                field=LAW,
            )
        keys: list[tuple[str, str]] = []
        chances: list[list[float]] = []
        for row in table.rows():
            group, recorded = row.cells[0].strip() if first else "", row.cells[first].strip()
            if first and not group:
                raise table.refused(row, table.header[0], "there is no group; write which it is of")
            if not recorded:
                raise table.refused(
                    row,
                    table.header[first],
                    "there is no recorded value; write what the data have there",
                )
            if (group, recorded) in keys:
                where = f" in the group {show(group)}" if first else ""
                raise table.refused(
                    row,
                    table.header[first],
                    f"the recorded value {show(recorded)} stands twice{where}",
                )
            keys.append((group, recorded))
            places = range(first + 1, len(table.header))
            chances.append([_chance(table, row, place) for place in places])
            for place, chance in zip(places, chances[-1], strict=True):
                if not 0 <= chance <= 1:
                    raise table.refused(
                        row, table.header[place], f"{chance:g} is no chance in [0, 1]"
                    )
        if not keys:
            raise InvalidParameter(f"{table.name} has no row of a recorded value", field=LAW)
        domain = tuple(name.strip() for name in table.header[first + 1 :])
        if len(set(domain)) < len(domain):
            raise InvalidParameter(
                f"{table.name} has a true value twice, with other spaces; remove one", field=LAW
            )
        groups = tuple(group for group, _ in keys) if first else None
        values = tuple(recorded for _, recorded in keys)
        try:
            patterns = patterns_of_law(
                np.array(chances), _same(values, domain), domain, groups=groups
            )
        except InvalidParameter as error:
            raise InvalidParameter(f"{table.name}: {error}", field=LAW) from None
    return Law(values, domain, patterns, groups)


def _chance(table: TableReader, row: Row, place: int) -> float:
    """Return the chance of a cell: a decimal, or a fraction as dice have them, such as 5/6.

    Of two designs a chance is not known, and a cell that stands for one is refused as such.
    """
    text = row.cells[place].strip()
    fraction = _FRACTION.fullmatch(text)
    if fraction is not None:
        return int(fraction[1]) / int(fraction[2])
    if is_decimal(text) or "," in text:
        return table.number(row, place)
    if text.strip("?") and (not text.isidentifier() or text in _NO_NUMBER):
        raise table.refused(
            row, table.header[place], f"{show(text)} is no chance; write one such as 5/6 or 0.8333"
        )
    if text:
        raise table.refused(
            row,
            table.header[place],
            f"{show(text)} is no number, and a chance that is unknown is not estimated with the "
            "slopes; of the unrelated question write the share who say yes to the other question, "
            "which both samples together tell; of the stochastic lie detector, where yes may be "
            "denied, make those who deny it a third true value",
        )
    raise table.refused(
        row, table.header[place], "there is no chance; write one such as 5/6 or 0.8333"
    )


def read_answers(
    path: Path,
    laws: Mapping[str, Path],
    formula: str | Formula,
    *,
    by: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
    weight: str | None = None,
    cluster: str | None = None,
) -> Answers:
    """Read the columns of a table that a formula names.

    A column in clear is of numbers if all of its values are. Spaces around a value are no part of
    it. A row with an empty cell in one of the columns is left out, and counted.

    The table is CSV or Parquet with a header; `by` has, of randomised columns whose law differs
    between groups of respondents, the column that says which one a row has; `missing` are texts of
    cells that count as empty, such as NA; `cluster` is a column with what rows were drawn together
    in.
    """
    read = read_formula(formula) if isinstance(formula, str) else formula
    by = {} if by is None else by
    named_by = dict.fromkeys(read.variables, FIELD)
    others = ((by.values(), "law_by"), ((weight,), "weight_column"), ((cluster,), "cluster_column"))
    for names, field in others:
        for column in filter(None, names):
            named_by.setdefault(column, field)
    columns = list(named_by)
    with _opened(path, named_by) as table:
        _check_laws(read, laws, by)
        known = {column: read_law(law, by.get(column)) for column, law in laws.items()}
        rows, dropped = [], 0
        for row in table.rows():
            if all(row.cells) and not any(cell in missing for cell in row.cells):
                rows.append(row)
            else:
                dropped += 1
        if not rows:
            raise InvalidParameter(
                f"{table.name} has no row in which {columns_named(columns)} all have a value; "
                f"{dropped} rows have an empty cell; leave a column out of the formula",
                field=DATA,
            )
        categories = _as_categories(read)
        clear: dict[str, Numbers | Categories] = {}
        units = []
        for place, column in enumerate(columns):
            if column in known:
                group = columns.index(by[column]) if column in by else None
                units.append(_unit(table, rows, place, known[column], group))
            elif column in read.variables:
                clear[column] = _column(table, rows, place, free=column in categories)
        weights = None if weight is None else _weights(table, rows, columns.index(weight))
        clusters = None
        if cluster is not None:
            place = columns.index(cluster)
            texts = [row.cells[place] for row in rows]
            _refuse_unknown(table, dict(zip(texts, rows, strict=True)), cluster)
            clusters = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    return Answers(len(rows), clear, tuple(units), weights, clusters, dropped)


def _check_laws(read: Formula, laws: Mapping[str, Path], by: Mapping[str, str]) -> None:
    for column in laws:
        if column not in read.variables:
            raise InvalidParameter(
                f"there is a law of {show(column)}, which the formula does not name"
                f"{remedy_for(column, read.variables)}",
                field=LAW,
            )
    for column in by:
        if column not in laws:
            raise InvalidParameter(
                f"the law of {show(column)} is said to hang on {show(by[column])}, and there is no "
                f"law of it{remedy_for(column, tuple(laws))}",
                field=LAW,
            )


def _as_categories(formula: Formula) -> set[str]:
    """Return the columns that the formula takes as categories alone."""
    factors = [formula.outcome, *(factor for term in formula.terms for factor in term)]
    free = {one.variables[0] for one in factors if one.as_categories}
    return free - {name for one in factors if not one.as_categories for name in one.variables}


@contextmanager
def _opened(path: Path, columns: Mapping[str, str]) -> Iterator[TableReader]:
    """Open a table with some of its columns; of each, the field that names it."""
    if is_parquet(path):
        header = parquet_header(path, DATA)
        places = [_place(header, column, path, field) for column, field in columns.items()]
        order = sorted(places)
        texts = parquet_texts(path, DATA, order, _ROWS)
        back = [order.index(place) for place in places]
        lines: Iterable[tuple[int | None, list[str]]] = (
            (None, [cells[place].strip() for place in back])
            for batch in texts
            for cells in zip(*batch, strict=True)
        )
        yield TableReader(word(path), DATA, tuple(columns), lines)
        return
    with open_table(path, field=DATA) as table:
        places = [_place(table.header, column, path, field) for column, field in columns.items()]
        chosen = (
            (row.line, [row.cells[place].strip() for place in places]) for row in table.rows()
        )
        yield TableReader(table.name, DATA, tuple(columns), chosen)


def _place(header: Sequence[str], column: str, path: Path, field: str) -> int:
    close = None if column in header else nearest_name(column, header)
    remedy = f"{'the formula' if field == FIELD else field.replace('_', '-')} names columns of it"
    if close is not None:
        remedy = f"did you mean {show(close)}? {remedy[0].upper()}{remedy[1:]}"
    return column_place(header, column, path, field, remedy)


def _unit(table: TableReader, rows: Sequence[Row], place: int, law: Law, group: int | None) -> Unit:
    """Return the records of a randomised column; the group's column says which law a row has."""
    texts = [row.cells[place] for row in rows]
    of = ["" if group is None else row.cells[group] for row in rows]
    recorded = dict.fromkeys(law.recorded)
    same = dict(zip(sorted(set(texts)), _same(sorted(set(texts)), list(recorded)), strict=True))
    groups = law.groups or ("",) * len(law.recorded)
    alike = dict(zip(sorted(set(of)), _same(sorted(set(of)), sorted(set(groups))), strict=True))
    places = {key: number for number, key in enumerate(zip(groups, law.recorded, strict=True))}
    found = np.empty(len(rows), np.int64)
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        key = alike[of[number]], same[text]
        if key not in places:
            if group is not None and key[0] not in groups:
                raise table.refused(
                    row,
                    table.header[group],
                    f"{show(of[number])} has no law; the groups that have one are "
                    f"{', '.join(sorted(set(groups))[:20])}",
                )
            where = "" if group is None else f" in the group {show(of[number])}"
            listed = [value for one, value in places if one == key[0]]
            raise table.refused(
                row,
                table.header[place],
                f"{show(text)} is no recorded value of its law{where}; they are "
                f"{', '.join(listed[:20])}; {_IF_MISSING}",
            )
        found[number] = places[key]
    name = table.header[place]
    return Unit(name, (Question(name, law.domain),), law.patterns, found)


def _same(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return texts as others spell them: of numbers, those of the same value, such as 1.0 for 1."""
    if not all(is_decimal(text) for text in known):
        return list(texts)
    by_value = {float(text): text for text in known}
    return [
        by_value.get(float(text), text) if text not in known and is_decimal(text) else text
        for text in texts
    ]


def _column(
    table: TableReader, rows: Sequence[Row], place: int, *, free: bool
) -> Numbers | Categories:
    """Return a column in clear: numbers if all of its values are, categories if none is."""
    name = table.header[place]
    distinct: dict[str, Row] = {}
    for row in rows:
        distinct.setdefault(row.cells[place], row)
    other = [text for text in distinct if not is_decimal(text)]
    if not other:
        _check_points(table, distinct, name)
        values = {text: _number(table, row, name, text) for text, row in distinct.items()}
        if len(set(values.values())) < 2:
            text = next(iter(distinct))
            raise table.refused(distinct[text], name, _constant(text))
        return Numbers(name, np.array([values[row.cells[place]] for row in rows]))
    if len(other) < len(distinct) and not free:
        text = other[0]
        raise table.refused(
            distinct[text],
            name,
            f"{show(text)} is no number, and other values of the column are; {_IF_MISSING}; if the "
            f"values are categories, write C({name})",
        )
    if not free:
        _refuse_unknown(table, distinct, name, f"; if it is a category, write C({name})")
    if len(distinct) > _MANY and not free:
        raise table.refused(
            distinct[other[0]],
            name,
            f"{show(other[0])} is no number, and the column has {len(distinct)} different values; "
            "a number has a point before its decimals, and no unit; group categories, or write "
            f"C({name}) for so many",
        )
    if len(distinct) < 2 and rows:
        raise table.refused(rows[0], name, _constant(other[0]))
    if len(distinct) > MOST_CATEGORIES:
        raise InvalidParameter(
            f"{table.name} has {len(distinct)} different values in the column {show(name)}, and a "
            f"column of categories has at most {MOST_CATEGORIES}; group them",
            field=DATA,
        )
    domain = tuple(sorted(distinct))
    codes = {text: code for code, text in enumerate(domain)}
    return Categories(name, np.array([codes[row.cells[place]] for row in rows], np.int64), domain)


def _constant(text: str) -> str:
    return (
        f"{show(text)} is the value of all rows that are read, so nothing can depend on it; leave "
        "the column out of the formula"
    )


def _number(table: TableReader, row: Row, name: str, text: str) -> float:
    try:
        return parse_number(text)
    except ValueError as error:
        raise table.refused(row, name, str(error)) from None


def _refuse_unknown(
    table: TableReader, distinct: Mapping[str, Row], name: str, otherwise: str = ""
) -> None:
    """Refuse what other programs write for a missing value, where it would be a category."""
    for text, row in distinct.items():
        if text in _UNKNOWN:
            raise table.refused(
                row, name, f"{show(text)} may be a missing value; {_IF_MISSING}{otherwise}"
            )


def _check_points(table: TableReader, distinct: Mapping[str, Row], name: str) -> None:
    """Refuse numbers whose points may all separate thousands."""
    doubtful = [text for text in distinct if has_doubtful_point(text)]
    settled = any(
        not has_doubtful_point(text) and ("." in text or len(text.lstrip("+-")) > 3)
        for text in distinct
    )
    if doubtful and not settled:
        raise table.refused(distinct[doubtful[0]], name, doubtful_point(doubtful[0]))


def _weights(table: TableReader, rows: Sequence[Row], place: int) -> Array:
    weights = []
    for row in rows:
        weight = table.number(row, place)
        if weight <= 0:
            raise table.refused(
                row,
                table.header[place],
                f"the weight {weight:g} is not positive; leave the row out",
            )
        weights.append(weight)
    return np.array(weights)
