"""Encoding one respondent's answers as a record, a row of fixed width, and checking records.

The part of a block, which may be one perturbed attribute, is its protocol's record. The part of an
attribute in clear is its code, little-endian: 1 byte for up to 256 categories, 2 for more. A draw
has one part: a mask with a bit for each of its blocks, in the order in which it lists them, and
then the parts of all of these blocks, zero where the block was not chosen. It stands where the
first of its questions stands in the manifest, and its mask is drawn before its blocks are. The
field table that is built here is the only place that knows offsets; the array side and the wire
read it.

An answer, a code or a clear byte never appears in a message or a repr.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hushpoll_protocols import Bits, FrequencyOracle, InvalidParameter, MalformedRecord
from hushpoll_protocols.bits import uniform_subset
from hushpoll_protocols.record_forms import BitForm, pack, unpack
from hushpoll_shared.spelling.text import is_name, show
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.follow_ups import (
    Routes,
    asks,
    code_answer,
    impossible,
    routes_of,
)
from hushpoll_shared.survey.questions.selects import Selection, spread_answers
from hushpoll_shared.survey.randomization.blocks import Block
from hushpoll_shared.survey.randomization.draws import Draw

Answer = str | int | Collection[str] | None
"""A category, or of a select-all the options that apply."""


class Codes(dict[str, int]):
    """Answers as codes by attribute; a plain dict whose repr does not show them."""

    def __repr__(self) -> str:
        return f"<codes of {len(self)} attributes, not shown>"


@dataclass(frozen=True)
class Mask:
    """Which blocks of a draw a device answered: the first bytes of its part of a record."""

    draw: Draw
    """Bit i is of its block i, least significant first; the others are zero."""
    offset: int
    """First byte."""

    @property
    def name(self) -> str:
        """The draw's name."""
        return self.draw.name

    @cached_property
    def form(self) -> BitForm:
        """A bit for each block, of which as many are set as a device answers."""
        return BitForm(len(self.draw.blocks), self.draw.answer)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.form.size

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.offset + self.size

    def choose(self, bits: Bits) -> bytes:
        """Draw a mask, each with the same chance."""
        d = len(self.draw.blocks)
        return pack(uniform_subset(d, self.draw.answer, bits), d)

    def drawn_blocks(self, record: bytes) -> tuple[str, ...]:
        """Return the blocks that a well-formed record answers."""
        return tuple(self.draw.blocks[place] for place in unpack(record[self.offset : self.end]))


@dataclass(frozen=True)
class Field:
    """One place in a record: of a block, or of an attribute in clear."""

    name: str
    """The block, which for a question alone is the question; or the attribute in clear."""
    offset: int
    """First byte."""
    size: int
    """Bytes."""
    k: int
    """Domain size, 2..65536."""
    oracle: FrequencyOracle | None
    """None for a code in clear."""
    block: Block | None
    """Which code of the field stands for which answers; None for a code in clear."""
    mask: Mask | None = None
    """Where a record says whether a block in a draw has an answer; None outside draws."""

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.offset + self.size

    @property
    def place(self) -> tuple[int, int]:
        """The byte of the record, and the bit in it, that say that a block in a draw was chosen."""
        if self.mask is None:
            raise InvalidParameter(f"{self.name} is in no draw", field="attribute")
        at = self.mask.draw.blocks.index(self.name)
        return self.mask.offset + (at >> 3), at & 7

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the attributes whose answers the field has."""
        block = self.block
        return (
            (self.name,) if block is None else tuple(question.name for question in block.questions)
        )

    def draw(self, codes: Mapping[str, int], bits: Bits) -> int:
        """Return the field's code, 0..k-1, of codes by attribute; a number's anchor is drawn."""
        block = self.block
        if block is not None and block.alone:
            return block.questions[0].drawn(codes[self.name], bits)
        return self.code(codes)

    def code(self, codes: Mapping[str, int]) -> int:
        """Return the field's code, 0..k-1, of codes by attribute that are no randomised number."""
        block = self.block
        if block is None or block.alone:
            return codes[self.name]
        return block.join([codes[name] for name in self.questions])


@dataclass(frozen=True)
class Layout:
    """The field table of a published survey."""

    fields: tuple[Field, ...]
    """In record order, without gaps but for masks: one for each block, where the first of its
    questions stands in the manifest, and one for each attribute in clear. The blocks of a draw
    follow its mask."""
    attributes: tuple[PublishedAttribute, ...]
    """In manifest order."""
    masks: tuple[Mask, ...] = ()
    """One for each draw, in record order."""
    selects: tuple[Selection, ...] = ()

    @classmethod
    def of(
        cls,
        attributes: Sequence[PublishedAttribute],
        blocks: Sequence[Block],
        draws: Sequence[Draw] = (),
        selects: Sequence[Selection] = (),
    ) -> Layout:
        """Lay the blocks, draws and attributes in clear out one after the other."""
        owners = {question.name: block for block in blocks for question in block.questions}
        drawn = {name: draw for draw in draws for name in draw.blocks}
        by_name = {block.name: block for block in blocks}
        masks: list[Mask] = []
        fields: list[Field] = []
        placed: set[str] = set()
        offset = 0
        for attribute in attributes:
            block = owners.get(attribute.name)
            if block is None:
                name, k, size = attribute.name, attribute.k, 1 if attribute.k <= 256 else 2
            elif block.name in placed:
                continue
            elif block.name in drawn:
                mask = Mask(drawn[block.name], offset)
                masks.append(mask)
                offset = mask.end
                for one in mask.draw.blocks:
                    member = by_name[one]
                    size = member.oracle.record_size
                    where = None if member.questions[0].draw is None else mask
                    fields.append(Field(one, offset, size, member.k, member.oracle, member, where))
                    placed.add(one)
                    offset += size
                continue
            else:
                name, k, size = block.name, block.k, block.oracle.record_size
            placed.add(name)
            oracle = None if block is None else block.oracle
            fields.append(Field(name, offset, size, k, oracle, block))
            offset += size
        return cls(tuple(fields), tuple(attributes), tuple(masks), tuple(selects))

    @cached_property
    def record_size(self) -> int:
        """L, the bytes of every record, whatever the answers."""
        return sum(field.size for field in self.fields) + sum(mask.size for mask in self.masks)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    @cached_property
    def _attributes(self) -> dict[str, PublishedAttribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @cached_property
    def routes(self) -> Routes:
        """The router of each follow-up, and the codes after which it is asked."""
        return routes_of(self.attributes)

    def field(self, name: str) -> Field:
        """Return the field of a block or of an attribute in clear, which has one of its own."""
        field = self._by_name.get(name)
        if field is None:
            attribute = self._attributes.get(name)
            if attribute is not None:
                raise InvalidParameter(
                    f"{name} has no field of its own in a record: it is randomised together with "
                    f"the other questions of the block {attribute.block}; read the field of "
                    f"{attribute.block}",
                    field="attribute",
                )
            raise InvalidParameter(
                f"{show(name)} is no attribute of this survey; "
                f"its attributes are {', '.join(self._attributes)}",
                field="attribute",
            )
        return field

    def code_answers(self, answers: Mapping[str, Answer]) -> Codes:
        """Turn answers into codes, 0..answer_codes-1 each, before anything is randomised.

        An integer stands for its decimal string; None or absent for the missing category, or for
        that of a follow-up that is not asked. Of a select-all, by its name, the list of the options
        that apply is given. Refusals name attributes and categories, never answers.
        """
        if not isinstance(answers, Mapping):
            raise InvalidParameter(
                f"the answers are of type {type(answers).__name__}; "
                "give a mapping of attribute to category",
                field="answers",
            )
        answers = self._spread(answers)
        for name in answers:
            if name not in self._attributes:
                # A key that is no name may be an answer put in the wrong place, so it is not shown.
                shown = repr(name) if is_name(name) else f"something of type {type(name).__name__}"
                raise InvalidParameter(
                    f"the answers have {shown}, which is no attribute of this survey; "
                    f"its attributes are {', '.join(self._questions())}: remove it",
                    field=name if is_name(name) else "answers",
                )
        codes = Codes()
        for attribute in self.attributes:
            answer = answers.get(attribute.name)
            codes[attribute.name] = code_answer(attribute, answer, codes, self.routes)
        self._check_selects(codes)
        return codes

    def _spread(self, answers: Mapping[str, Answer]) -> Mapping[str, Answer]:
        """Return answers with those to select-alls as answers to their options."""
        if not self.selects:
            return answers
        texts = {attribute.name: attribute.question for attribute in self.attributes}
        return spread_answers(answers, self.selects, texts)

    def _questions(self) -> list[str]:
        """Return what is asked, in order: an attribute's name, or that of a select-all."""
        owners = {name: select.name for select in self.selects for name in select.attributes}
        return list(dict.fromkeys(owners.get(name, name) for name in self._attributes))

    def _check_selects(self, codes: Mapping[str, int]) -> None:
        for select in self.selects:
            select.check_count(sum(codes[name] for name in select.attributes))

    def encode(self, codes: Mapping[str, int], bits: Bits) -> bytes:
        """Build one record of `record_size` bytes: randomise what is perturbed, write the rest.

        `bits` are consumed in record order: of a draw first its mask, by
        :func:`~hushpoll_protocols.bits.uniform_subset`, and then what its chosen blocks need;
        nothing for the others. Calling again draws again, and spends again. Refuses codes that are
        not of exactly the survey's attributes, or do not go together; they are not shown.
        """
        if codes.keys() != self._attributes.keys():
            raise InvalidParameter(
                f"the codes name {len(codes)} attributes that are not exactly the survey's; "
                f"give one code for each of {', '.join(self._attributes)}",
                field="codes",
            )
        for attribute in self.attributes:
            code = codes[attribute.name]
            if type(code) is not int or not 0 <= code < attribute.answer_codes:
                raise InvalidParameter(
                    f"the code of {attribute.name} (of type {type(code).__name__}) is not an "
                    f"integer in [0, {attribute.answer_codes - 1}]; code answers with code_answers",
                    field=attribute.name,
                )
            unasked = code == attribute.answer_codes - 1
            if attribute.ask_if is not None and unasked == asks(self.routes, attribute.name, codes):
                raise impossible(attribute)
        self._check_selects(codes)
        parts: list[bytes] = []
        chosen: tuple[str, ...] = ()
        for field in self.fields:
            if field.mask is not None:
                if field.name == field.mask.draw.blocks[0]:
                    mask = field.mask.choose(bits)
                    parts.append(mask)
                    chosen = tuple(field.mask.draw.blocks[place] for place in unpack(mask))
                if field.name not in chosen:
                    parts.append(bytes(field.size))
                    continue
            code = field.draw(codes, bits)
            if field.oracle is None:
                parts.append(code.to_bytes(field.size, "little"))
            else:
                parts.append(field.oracle.randomize(code, bits))
        return b"".join(parts)

    def check(self, record: bytes) -> None:
        """Refuse bytes that no device could have sent for this survey, by a `MalformedRecord`."""
        if len(record) != self.record_size:
            raise MalformedRecord(
                f"the record has {len(record)} bytes; a record of this survey has "
                f"{self.record_size}: send it as it was encoded",
                reason="length",
            )
        clear: dict[str, int] = {}
        left_out = self._check_masks(record) if self.masks else None
        for field in self.fields:
            part = record[field.offset : field.offset + field.size]
            if left_out is not None and field.name in left_out:
                _check_zero(field, part)
                continue
            if field.oracle is None:
                self._check_code(field, part)
                clear[field.name] = int.from_bytes(part, "little")
                self._check_clear_follow_up(field, clear)
                continue
            try:
                # its length is that of the part
                field.oracle.form.check(part, field.oracle.name)
            except MalformedRecord as error:
                raise MalformedRecord(
                    f"{field.name}: {error}", reason=error.reason, field=field.name
                ) from None

    def _check_masks(self, record: bytes) -> frozenset[str]:
        """Refuse malformed masks; return the blocks that were not chosen."""
        left_out: set[str] = set()
        for mask in self.masks:
            try:
                mask.form.check(record[mask.offset : mask.end], "mask's")
            except MalformedRecord as error:
                raise MalformedRecord(
                    f"{mask.name}: the mask of a draw has a bit for each of its "
                    f"{len(mask.draw.blocks)} blocks, of which {mask.draw.answer} are set, and "
                    "zeros after them; send the record exactly as the device made it",
                    reason=error.reason,
                    field=mask.name,
                ) from None
            left_out.update(set(mask.draw.blocks).difference(mask.drawn_blocks(record)))
        return frozenset(left_out)

    def _check_clear_follow_up(self, field: Field, codes: Mapping[str, int]) -> None:
        """Refuse a code of a follow-up in clear, whose router is in clear too, as `encode` does."""
        unasked = codes[field.name] == field.k - 1
        if field.name in self.routes and unasked == asks(self.routes, field.name, codes):
            raise MalformedRecord(
                f"{field.name}: the code does not go with that of its router; "
                "code the answers with the survey's published manifest",
                reason="range",
                field=field.name,
            )

    @staticmethod
    def _check_code(field: Field, part: bytes) -> None:
        if int.from_bytes(part, "little") >= field.k:
            raise MalformedRecord(
                f"{field.name}: a code is outside [0, {field.k - 1}]; "
                "code the answer with the survey's published manifest",
                reason="range",
                field=field.name,
            )


def _check_zero(field: Field, part: bytes) -> None:
    """Refuse bytes of a block that the mask says was not chosen."""
    if any(part):
        raise MalformedRecord(
            f"{field.name}: the mask says that this block was not chosen, and its part is not "
            "zero; send the record exactly as the device made it",
            reason="padding",
            field=field.name,
        )
