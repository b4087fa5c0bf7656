"""A published survey and its records, checked once: every analysis and every training starts here.

A record is the bytes of one respondent's answers. What it says of an attribute is a row of
indicators, one 0/1 column per category: the support of a perturbed record, or the one-hot answer in
clear. That is the one encoding which estimates, audits and models read. The law of an indicator
given the answer is its :class:`Channel`, from which the unbiased D = (I - q)/(p - q) follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.fields import categories_of, fields_of
from hushpoll_analysis.records.laws import law_of, refuse_block, refuse_draw
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord, ManifestRefused
from hushpoll_protocols.estimation.marginals import AnyLaw, UnevenSets
from hushpoll_protocols.kernels import indicators
from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import MalformedRow, answered, codes, column, malformed_many
from hushpoll_shared.wire.records_file import read_records

if TYPE_CHECKING:
    import pandas as pd

CELLS = 1 << 24
"""Indicators held at a time, so that memory does not grow with the number of records."""

CHECKED_ROWS = 1 << 16
"""Rows that are checked at a time."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The law of one indicator given the truth.

    Attributes
    ----------
    p, q : Fraction
        Probability that the indicator is 1 for the answer and for another category, p > q.
    sizes : tuple of int or None
        Where categories are sets of different sizes, how many combinations each has; p and q are
        then those of one combination.
    """

    p: Fraction
    q: Fraction
    sizes: tuple[int, ...] | None = None

    @classmethod
    def of(cls, oracle: AnyLaw | None) -> Channel:
        """Channel of a protocol; of an attribute in clear for None.

        Of sets of combinations, p and q are the expected numbers that a record supports.
        """
        if oracle is None:
            return cls(Fraction(1), Fraction(0))
        if isinstance(oracle, UnevenSets):
            return cls(oracle.oracle.p, oracle.oracle.q, oracle.sizes)
        return cls(oracle.p, oracle.q)

    @property
    def gap(self) -> float:
        """Difference p - q, in (0, 1]; exact, since floats would cancel at a small epsilon."""
        return float(self.p - self.q)

    @property
    def elsewhere(self) -> float | npt.NDArray[np.float64]:
        """Expected indicator, or number, where the truth is elsewhere; f64[k] of sets of sizes."""
        if self.sizes is None:
            return float(self.q)
        return np.array([size * self.q for size in self.sizes], np.float64)

    def debias(self, indicators: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return D = (I - q)/(p - q), whose expectation given the truth is the one-hot truth.

        Indicators are 0 or 1, or whole numbers of combinations, category by category on the last
        axis.
        """
        if self.sizes is not None:
            return np.asarray((indicators - self.elsewhere) / self.gap)
        most = max(int(indicators.max(initial=0)), 1)
        values = [(number - self.q) / (self.p - self.q) for number in range(most + 1)]
        return np.asarray(np.array(values, np.float64)[indicators])


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records of one survey, all of them well formed.

    Attributes
    ----------
    published : Published
        The survey.
    rows : uint8[n, L]
        One record per row; a read-only view. The array is not copied: do not change it later.

    Raises
    ------
    InvalidParameter
        If `rows` has another shape or type than the survey's records.
    MalformedRecord
        If no device could have sent one of the rows; the first such row is named.
    """

    published: Published
    rows: npt.NDArray[np.uint8]

    def __post_init__(self) -> None:
        _check_shape(self.published, self.rows)
        # a block at a time: the check needs some 25 bytes a row, and a wrong file has many bad rows
        for start in range(0, len(self.rows), CHECKED_ROWS):
            block = self.rows[start : start + CHECKED_ROWS]
            _, malformed = malformed_many(self.published, block)
            if malformed:
                _refuse_row(self.published, start, malformed[0])
        object.__setattr__(self, "rows", _read_only(self.rows))

    @classmethod
    def trusted(cls, published: Published, rows: npt.NDArray[np.uint8]) -> Records:
        """Return rows that were checked before, or that this program has just drawn itself.

        The server checks a report before it stores it, so its segments need no second pass. A
        damaged row is refused when :meth:`codes`, :meth:`indicators` or a count reads its
        attribute, by MalformedRecord; :meth:`column` gives the bytes as they are.

        Raises
        ------
        InvalidParameter
            As :class:`Records`.
        """
        _check_shape(published, rows)
        return _unchecked(published, rows)

    @classmethod
    def read(cls, path: Path) -> Records:
        """Read a file of records, which carries its manifest, and check it.

        The file is what export saves, also as Parquet.

        Raises
        ------
        InvalidParameter, ManifestRefused, MalformedRecord
            Naming the file.
        MissingExtra
            Without the extra ``kernels``.
        OSError
            If it cannot be read.
        """
        try:
            if _is_parquet(path):
                return _read_parquet(path)
            return cls(*read_records(path))
        except MalformedRecord as error:
            raise MalformedRecord(
                f"{path}: {error}", reason=error.reason, field=error.field
            ) from None
        except (InvalidParameter, ManifestRefused) as error:
            raise type(error)(f"{path}: {error}", field=error.field) from None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: slice | npt.NDArray[Any]) -> Records:
        """Return some of the records, by slice, by index or by mask; they need no second check."""
        return _unchecked(self.published, self.rows[rows])

    def blocks(self, most: int) -> Iterator[Records]:
        """Yield the records in order, at most `most` (and at least one) at a time."""
        step = max(most, 1)
        for start in range(0, len(self), step):
            yield self.take(slice(start, start + step))

    def under(self, published: Published) -> Records:
        """Return the same records under a survey with the same attributes, word for word.

        The other survey may compare other groups.

        Raises
        ------
        InvalidParameter
            If the other survey has other attributes.
        """
        require_layout(published, self)
        return _unchecked(published, self.rows)

    def column(self, name: str) -> npt.NDArray[np.uint8]:
        """Return an attribute's part of every record, uint8[n, size], a view.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute, or it is in a block with others.
        """
        refuse_block(self.published.attribute(name))
        refuse_draw(self.published.attribute(name))
        return column(self.published.layout, self.rows, name)

    def of_field(self, field: Field) -> npt.NDArray[np.uint8]:
        """Return a field's part of every record, uint8[n, size], a view: a block's, or a code.

        Raises
        ------
        InvalidParameter
            If it is of a block in a draw, which some records answer: take :meth:`answers_of`, or
            the records of :meth:`answering`.
        """
        if field.mask is not None and field.block is not None:
            refuse_draw(field.block.questions[0])
        return column(self.published.layout, self.rows, field.name)

    def answers_of(self, field: Field) -> npt.NDArray[np.uint8]:
        """Return a field's part of the records that answer it: of all, unless it is in a draw."""
        part = column(self.published.layout, self.rows, field.name)
        return part if field.mask is None else part[answered(self.rows, field)]

    def answering(self, names: Collection[str]) -> Records:
        """Return the records that answer all of these questions.

        Their survey has the blocks of these questions in no draw.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute.
        """
        seen = self.published.answering(names)
        if seen is self.published:
            return self
        return _unchecked(seen, self.rows[self.answer(names)])

    def answer(self, names: Collection[str]) -> npt.NDArray[np.bool_]:
        """Return which records answer all of these questions, bool[n]; all do without draws."""
        chosen = np.ones(len(self), np.bool_)
        for field in fields_of(self.published, names):
            chosen &= answered(self.rows, field)
        return chosen

    def codes(self, name: str) -> npt.NDArray[np.int64]:
        """Return the answers of an attribute in clear, int64[n] in [0, k)."""
        refuse_block(self.published.attribute(name))
        values = codes(self.published.layout, self.rows, name)
        # they index arrays, also in compiled loops, so trusted ones are compared with the domain
        if len(values) and values.max() >= self.published.attribute(name).k:
            Records(self.published, self.rows)  # it raises, and names the row
        return values

    def indicators(self, name: str) -> npt.NDArray[np.uint8]:
        """Return uint8[n, k]: 1 for each category that a record supports, or that was answered.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute; the message lists those that it has.
        """
        attribute = self.published.attribute(name)
        if attribute.oracle is None:
            return one_hot(self.codes(name), attribute.k)
        return indicators(attribute.oracle, self.column(name))

    def indicators_of(self, field: Field) -> npt.NDArray[np.uint8]:
        """Return uint8[n, k] of a field: 1 for each category, or combination, that it supports."""
        if field.oracle is None:
            return self.indicators(field.name)
        return indicators(field.oracle, self.of_field(field))

    def debiased(self, name: str) -> npt.NDArray[np.float64]:
        """Return D, f64[n, k]: its expectation given the truth is the one-hot truth.

        Of a question that is randomised with others it is the sum of the D of the combinations
        with each answer.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute; the message lists those that it has.
        """
        from hushpoll_analysis.records.numbers import numbers

        law = law_of(self.published.attribute(name))
        return Channel.of(law).debias(numbers(self, [name]))

    @classmethod
    def from_table(cls, data: Any, published: Published | None = None) -> Records:
        """Return the checked records of a table of pandas, Polars or Arrow.

        See :func:`hushpoll_analysis.records.record_tables.records_of`.
        """
        from hushpoll_analysis.records.record_tables import records_of  # needs pyarrow

        return records_of(data, published)

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``: categories in clear, and the bytes that devices sent.

        Its schema has the manifest, so that :meth:`from_table` needs nothing else.
        """
        from hushpoll_analysis.records.record_tables import arrow_table

        return arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return :meth:`to_arrow` as a pandas DataFrame, which has no manifest."""
        table: pd.DataFrame = self.to_arrow().to_pandas()
        return table

    def to_polars(self) -> Any:
        """Return :meth:`to_arrow` as a ``polars.DataFrame``, which has no manifest.

        Raises
        ------
        MissingExtra
            Without the extra ``polars``.
        """
        from hushpoll_analysis.frames.tabular import polars_of

        return polars_of(self.to_arrow())

    def frame(self) -> pd.DataFrame:
        """Return all indicators, with columns named ``attribute=category`` in the record's order.

        A block of several questions has a column ``block=answer & answer`` for each combination.
        """
        import pandas as pd  # slow to import, and a server needs no frame

        fields = self.published.layout.fields
        names = [
            f"{field.name}={category}"
            for field in fields
            for category in categories_of(self.published, field)
        ]
        matrices = [self.indicators_of(field) for field in fields]
        return pd.DataFrame(np.concatenate(matrices, axis=1), columns=names)


@dataclass(frozen=True, slots=True)
class RecordStream:
    """Records of one survey that are read once, a part at a time, in bounded memory.

    What needs one pass only (counts, estimates, cross-tables, the shape of reports) takes a stream
    as it takes :class:`Records`.

    Attributes
    ----------
    published : Published
        The survey.
    parts : iterable of Records
        Of that survey; an iterator is used up by the first pass.

    Raises
    ------
    InvalidParameter
        When a part is read that is of a survey with other attributes.
    """

    published: Published
    parts: Iterable[Records]

    @classmethod
    def trusted(cls, published: Published, arrays: Iterable[npt.NDArray[np.uint8]]) -> RecordStream:
        """Return a stream of arrays that need no check; see :meth:`Records.trusted`."""
        return cls(published, (Records.trusted(published, rows) for rows in arrays))

    def blocks(self, most: int) -> Iterator[Records]:
        """Yield the records in order, at most `most` (and at least one) at a time."""
        for part in self._checked_parts():
            yield from part.blocks(most)

    def answering(self, names: Collection[str]) -> RecordStream:
        """Return the stream of the records that answer all of these questions."""
        seen = self.published.answering(names)
        if seen is self.published:
            return self
        return RecordStream(seen, (part.answering(names) for part in self._checked_parts()))

    def joined(self) -> Records:
        """Return all of the records, held at once; for a moment it takes twice their size."""
        none = np.empty((0, self.published.layout.record_size), np.uint8)
        rows = [part.rows for part in self._checked_parts()]
        return _unchecked(self.published, np.concatenate([none, *rows]))

    def _checked_parts(self) -> Iterator[Records]:
        for part in self.parts:
            require_layout(self.published, part)
            yield part


def require_layout(published: Published, records: Records) -> None:
    """Refuse records of another survey."""
    if records.published.layout != published.layout:
        raise InvalidParameter(
            f"the records are of {records.published.name} version {records.published.version}, "
            f"whose attributes are not those of {published.name} version {published.version}; "
            "give records of that survey",
            field="records",
        )


def one_hot(values: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.uint8]:
    """Return uint8[n, k] with a single 1 per row, at its code in [0, k)."""
    matrix = np.zeros((len(values), k), dtype=np.uint8)
    matrix[np.arange(len(values)), values] = 1
    return matrix


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _read_parquet(path: Path) -> Records:
    # It needs pyarrow, which is slow to import.
    from hushpoll_analysis.records.parquet import ParquetRecords, read_row_group

    described = ParquetRecords.of([path])
    parts = (read_row_group(*group) for group in described.groups)
    return RecordStream(described.published, parts).joined()


def _refuse_row(published: Published, start: int, row: MalformedRow) -> NoReturn:
    masks = {mask.name for mask in published.layout.masks}
    field = None if row.field in masks else published.layout.field(row.field)
    coded = field is not None and field.oracle is None
    interval = f", whose codes lie in [0, {field.k - 1}]" if field is not None and coded else ""
    raise MalformedRecord(
        f"records[{start + row.index}] has a malformed part of {row.field} ({row.reason})"
        f"{interval}; export the records again, or drop the rows that malformed_many names",
        reason=row.reason,
        field=row.field,
    )


def _unchecked(published: Published, rows: npt.NDArray[np.uint8]) -> Records:
    records = object.__new__(Records)
    object.__setattr__(records, "published", published)
    object.__setattr__(records, "rows", _read_only(rows))
    return records


def _read_only(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    view = rows.view()
    view.flags.writeable = False
    return view


def _check_shape(published: Published, rows: npt.NDArray[np.uint8]) -> None:
    length = published.layout.record_size
    shape, kind = getattr(rows, "shape", None), getattr(rows, "dtype", None)
    if kind != np.uint8 or shape is None or len(shape) != 2 or shape[1] != length:
        raise InvalidParameter(
            f"records are {kind} of shape {shape}; the survey {published.name} version "
            f"{published.version} needs uint8 of shape (n, {length}): read them with read_records",
            field="records",
        )
