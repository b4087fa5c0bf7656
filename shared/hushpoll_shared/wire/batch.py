"""Encoding, checking and packing many records at once as arrays (extra ``kernels``).

n records are one uint8[n, L] array: decoding is slicing, with no per-row Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hushpoll_protocols import InvalidParameter, MissingExtra
from hushpoll_shared.survey.codec import Field, Layout, Mask
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.wire.reports import (
    ID_SIZE,
    REPORTS_HEADER_SIZE,
    parse_reports_header,
    reports_header,
)

try:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
except ImportError:
    raise MissingExtra("kernels", "encoding and decoding many records at once") from None


@dataclass(frozen=True, slots=True)
class MalformedRow:
    """A malformed record among many."""

    index: int
    """Its row, from 0."""
    field: str
    """The first draw with a malformed mask, or else the first block, or attribute in clear, in
    record order whose part is malformed."""
    reason: str
    """``"range"``, ``"padding"`` or ``"popcount"``."""


def column(layout: Layout, records: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """Return one attribute's bytes of records uint8[n, L] as uint8[n, size], a view."""
    field = layout.field(name)
    return _checked(layout, records)[:, field.offset : field.end]


def codes(layout: Layout, records: NDArray[np.uint8], name: str) -> NDArray[np.int64]:
    """Return the codes of an attribute in clear as int64[n]; refuses a perturbed attribute.

    They are in [0, k) for records that `malformed_many` passes.
    """
    field = layout.field(name)
    if field.oracle is not None:
        raise InvalidParameter(
            f"{name} is perturbed by {field.oracle.name}, so its records hold no codes; "
            "decode it with the protocol's indicators or support counts",
            field=name,
        )
    return _codes(field, column(layout, records, name))


def encode_many(
    published: Published, codes: Mapping[str, ArrayLike], rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Build records uint8[n, L] of codes int[n] by attribute, drawn block by block; for simulation.

    Refuses codes outside [0, answer_codes), and those of a follow-up that its router rules out, and
    never shows them. A device uses `Layout.encode` with `SecureBits`.
    """
    # Compiled kernels take half a second to import: readers of clear codes do not wait for them.
    from hushpoll_protocols.kernels import perturb

    layout = published.layout
    names = [attribute.name for attribute in layout.attributes]
    if set(codes) != set(names):
        raise InvalidParameter(
            f"the codes name {len(codes)} attributes that are not exactly the survey's; "
            f"give an array for each of {', '.join(names)}",
            field="codes",
        )
    columns = {
        attribute.name: _checked_codes(attribute, codes[attribute.name])
        for attribute in layout.attributes
    }
    lengths = {len(array) for array in columns.values()}
    if len(lengths) != 1:
        raise InvalidParameter(
            f"the arrays of codes have the lengths {sorted(lengths)}; "
            "give one code per respondent and attribute",
            field="codes",
        )
    for name, (router, asking) in layout.routes.items():
        asked = np.isin(columns[router], list(asking))
        unasked = columns[name] == published.attribute(name).answer_codes - 1
        if (asked == unasked).any():
            raise InvalidParameter(
                f"codes of {router} and {name} do not go together: {name} is asked after some "
                f"answers to {router}, and has its last code after the others; code answers with "
                "the survey's published manifest",
                field=name,
            )
    for select in layout.selects:
        selected = sum(columns[name] for name in select.attributes)
        for extreme in (np.min, np.max) if lengths != {0} else ():
            select.check_count(int(extreme(selected)))
    records = np.zeros((lengths.pop(), layout.record_size), dtype=np.uint8)
    for mask in layout.masks:
        records[:, mask.offset : mask.end] = _masks(mask, len(records), rng)
    for field in layout.fields:
        array = _joined(field, columns, rng)
        if field.mask is not None:
            rows = answered(records, field)
            part = perturb(field.oracle, array[rows], rng)  # type: ignore[arg-type]  # a block's
            records[rows, field.offset : field.end] = part
            continue
        if field.oracle is None:
            little = array.astype("<u2" if field.size == 2 else "u1")
            part = little.view(np.uint8).reshape(-1, field.size)
        else:
            part = perturb(field.oracle, array, rng)
        records[:, field.offset : field.end] = part
    return records


def malformed_many(
    published: Published, records: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], list[MalformedRow]]:
    """Return which of uint8[n, L] no device could have sent, as bool[n], with a reason for each.

    A row is malformed where `Layout.check` would refuse it.
    """
    from hushpoll_protocols.kernels import MALFORMED_REASONS, malformed
    from hushpoll_protocols.kernels.interface import PADDING

    layout = published.layout
    _checked(layout, records)
    reasons = np.zeros(len(records), dtype=np.uint8)
    culprit = np.zeros(len(records), dtype=np.int64)
    names = [mask.name for mask in layout.masks]
    for position, mask in enumerate(layout.masks):
        _mark(reasons, culprit, _malformed_masks(mask, records), position)
    out_of_range = np.uint8(MALFORMED_REASONS.index("range"))
    clear: dict[str, NDArray[np.int64]] = {}
    for position, field in enumerate(layout.fields):
        part = records[:, field.offset : field.end]
        if field.oracle is None:
            values = _codes(field, part)
            clear[field.name] = values
            wrong = values >= field.k
            if field.name in layout.routes:
                router, asking = layout.routes[field.name]
                asked = np.isin(clear[router], list(asking))
                wrong |= asked == (values == field.k - 1)
            marks = np.where(wrong, out_of_range, np.uint8(0))
        else:
            marks = malformed(field.oracle, part)
            if field.mask is not None:
                zero = np.where(part.any(axis=1), np.uint8(PADDING), np.uint8(0))
                marks = np.where(answered(records, field), marks, zero)
        _mark(reasons, culprit, marks, len(names) + position)
    bad = reasons != 0
    names += [field.name for field in layout.fields]
    rows = [
        MalformedRow(index, names[culprit[index]], MALFORMED_REASONS[reasons[index]])
        for index in np.flatnonzero(bad).tolist()
    ]
    return bad, rows


def _mark(
    reasons: NDArray[np.uint8], culprit: NDArray[np.int64], marks: NDArray[np.uint8], position: int
) -> None:
    """Note what is malformed in rows where nothing before it was."""
    first = (reasons == 0) & (marks != 0)
    reasons[first] = marks[first]
    culprit[first] = position


def _malformed_masks(mask: Mask, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return for each row 0, or why its mask is malformed, as the check of one record does."""
    from hushpoll_protocols.kernels.interface import PADDING, POPCOUNT

    part = records[:, mask.offset : mask.end]
    d = len(mask.draw.blocks)
    padded = part[:, -1] >> (d & 7) != 0 if d & 7 else np.zeros(len(part), np.bool_)
    others = np.bitwise_count(part).sum(axis=1) != mask.draw.answer
    marks = np.where(padded, PADDING, np.where(others, POPCOUNT, 0))
    return marks.astype(np.uint8)


def _masks(mask: Mask, count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw a mask for each of so many records, uint8[n, size]."""
    d = len(mask.draw.blocks)
    first = np.zeros((count, d), np.uint8)
    first[:, : mask.draw.answer] = 1
    return np.packbits(rng.permuted(first, axis=1), axis=1, bitorder="little")


def answered(records: NDArray[np.uint8], field: Field) -> NDArray[np.bool_]:
    """Return bool[n]: which records have an answer to a block of a draw; all, outside draws."""
    if field.mask is None:
        return np.ones(len(records), np.bool_)
    byte, bit = field.place
    return np.asarray(records[:, byte] >> bit & 1, np.bool_)


def pack_rows(digest: str, ids: NDArray[np.uint8], records: NDArray[np.uint8]) -> bytes:
    """Pack ids uint8[n, 16] and records uint8[n, L] into a bulk body."""
    if (
        ids.dtype != np.uint8
        or records.dtype != np.uint8
        or ids.shape != (len(records), ID_SIZE)
        or records.ndim != 2
    ):
        raise InvalidParameter(
            f"ids are {ids.dtype}{list(ids.shape)} and records {records.dtype}"
            f"{list(records.shape)}; give uint8[n, {ID_SIZE}] and uint8[n, L]",
            field="reports",
        )
    return reports_header(digest) + np.hstack([ids, records]).tobytes()


def unpack_rows(
    body: bytes | bytearray, record_size: int | Callable[[str], int]
) -> tuple[str, NDArray[np.uint8], NDArray[np.uint8]]:
    """Unpack a bulk body into its digest and views of ids uint8[n, 16] and records uint8[n, L].

    `record_size` is L, or gives L for a digest; records are not yet checked.
    """
    digest = parse_reports_header(body)
    size = record_size if isinstance(record_size, int) else record_size(digest)
    rest = (len(body) - REPORTS_HEADER_SIZE) % (ID_SIZE + size)
    if rest:
        raise InvalidParameter(
            f"the bulk upload has {rest} bytes too many: after the header come rows of "
            f"{ID_SIZE} + {size} bytes; send whole reports of one survey version",
            field="body",
        )
    rows = np.frombuffer(body, dtype=np.uint8, offset=REPORTS_HEADER_SIZE)
    rows = rows.reshape(-1, ID_SIZE + size)
    return digest, rows[:, :ID_SIZE], rows[:, ID_SIZE:]


def _codes(field: Field, part: NDArray[np.uint8]) -> NDArray[np.int64]:
    values = part[:, 0].astype(np.int64)
    if field.size == 2:
        values |= part[:, 1].astype(np.int64) << 8
    return values


def _checked(layout: Layout, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if records.dtype != np.uint8 or records.ndim != 2 or records.shape[1] != layout.record_size:
        raise InvalidParameter(
            f"the records are {records.dtype}{list(records.shape)}; records of this survey are "
            f"uint8[n, {layout.record_size}]",
            field="records",
        )
    return records


def _joined(
    field: Field, columns: Mapping[str, NDArray[np.int64]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the field's codes: of a block of several questions, their combinations."""
    block = field.block
    if block is None:
        return columns[field.name]
    if block.alone:
        return _anchor_codes(block.questions[0], columns[field.name], rng)
    columns_of = [columns[name] for name in field.questions]
    if block.tree is None:
        joined = np.zeros(len(columns_of[0]), np.int64)
        for column, stride in zip(columns_of, block.strides, strict=True):
            joined += column * stride
        return joined
    # Numbers in mixed radix may be larger than an integer of 64 bits.
    rows, where = np.unique(np.stack(columns_of, axis=1), axis=0, return_inverse=True)
    return np.array([block.join(row) for row in rows.tolist()], np.int64)[where.reshape(-1)]


def _anchor_codes(
    question: PublishedAttribute, codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the codes, those of a number as anchors; see `Attribute.drawn`."""
    number = question.number
    if number is None:
        return codes
    anchors = np.array(question.anchors, np.int64)
    values = np.minimum(codes, number.values - 1) + number.low
    places = np.minimum(np.searchsorted(anchors, values, side="right"), len(anchors) - 1) - 1
    up = rng.integers(0, anchors[places + 1] - anchors[places]) < values - anchors[places]
    return np.where(codes < number.values, places + up, codes - number.values + len(anchors))


def _checked_codes(field: PublishedAttribute, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise InvalidParameter(
            f"the codes of {field.name} are {array.dtype}{list(array.shape)}; "
            "give a one-dimensional array of integers",
            field=field.name,
        )
    if array.size and not (array.min() >= 0 and array.max() < field.answer_codes):
        raise InvalidParameter(
            f"a code of {field.name} is outside [0, {field.answer_codes - 1}]; "
            "code answers with the survey's published manifest",
            field=field.name,
        )
    return array.astype(np.int64)
