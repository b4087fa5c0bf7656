"""Encoding one respondent's answers as a record, a row of fixed width, and checking records.

The part of a block, which may be one perturbed attribute, is its protocol's record. The part of an
attribute in clear is its code, little-endian: 1 byte for up to 256 categories, 2 for more. The
field table that is built here is the only place that knows offsets; the array side and the wire
read it.

An answer, a code or a clear byte never appears in a message or a repr.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hushpoll_protocols import Bits, FrequencyOracle, InvalidParameter, MalformedRecord
from hushpoll_shared.spelling.text import is_name, show
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.blocks import Block
from hushpoll_shared.survey.follow_ups import (
    Routes,
    asks,
    code_answer,
    impossible,
    routes_of,
)


class Codes(dict[str, int]):
    """Answers as codes by attribute; a plain dict whose repr does not show them."""

    def __repr__(self) -> str:
        return f"<codes of {len(self)} attributes, not shown>"


@dataclass(frozen=True)
class Field:
    """One place in a record: of a block, or of an attribute in clear.

    Parameters
    ----------
    name : str
        The block, which for a question alone is the question; or the attribute in clear.
    offset, size : int
        First byte and number of bytes.
    k : int
        Domain size, 2..65536.
    oracle : FrequencyOracle or None
        The protocol, or None for a code in clear.
    block : Block or None
        Which code of the field stands for which answers, or None for a code in clear.
    """

    name: str
    offset: int
    size: int
    k: int
    oracle: FrequencyOracle | None
    block: Block | None

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.offset + self.size

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
    """The field table of a published survey.

    Parameters
    ----------
    fields : tuple of Field
        In record order, without gaps: one for each block, where the first of its questions stands
        in the manifest, and one for each attribute in clear.
    attributes : tuple of PublishedAttribute
        All attributes, in manifest order.
    """

    fields: tuple[Field, ...]
    attributes: tuple[PublishedAttribute, ...]

    @classmethod
    def of(cls, attributes: Sequence[PublishedAttribute], blocks: Sequence[Block]) -> Layout:
        """Lay the blocks and the attributes in clear out one after the other."""
        owners = {question.name: block for block in blocks for question in block.questions}
        fields: list[Field] = []
        placed: set[str] = set()
        offset = 0
        for attribute in attributes:
            block = owners.get(attribute.name)
            if block is None:
                name, k, size = attribute.name, attribute.k, 1 if attribute.k <= 256 else 2
            elif block.name in placed:
                continue
            else:
                name, k, size = block.name, block.k, block.oracle.record_size
            placed.add(name)
            oracle = None if block is None else block.oracle
            fields.append(Field(name, offset, size, k, oracle, block))
            offset += size
        return cls(tuple(fields), tuple(attributes))

    @cached_property
    def record_size(self) -> int:
        """L, the bytes of every record, whatever the answers."""
        return sum(field.size for field in self.fields)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    @cached_property
    def _attributes(self) -> dict[str, PublishedAttribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @cached_property
    def routes(self) -> Routes:
        """Of each follow-up its router, and the codes after which it is asked."""
        return routes_of(self.attributes)

    def field(self, name: str) -> Field:
        """Return the field of a block or of an attribute in clear, by its name.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute, or it has no field of its own, being in a block of
            several.
        """
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

    def code_answers(self, answers: Mapping[str, str | int | None]) -> Codes:
        """Turn answers into codes, before anything is randomised.

        Parameters
        ----------
        answers : mapping of str to str, int or None
            A category per attribute; an integer stands for its decimal string; None or absent for
            the missing category, or for that of a follow-up that is not asked.

        Returns
        -------
        Codes
            One code per attribute, 0..k-1, or 0..answer_codes-1 of a number.

        Raises
        ------
        InvalidParameter
            For an answer that the survey does not know, one absent where there is no missing
            category, one to a follow-up that is not asked, an extra one, or answers that are no
            mapping. Messages name attributes and categories, never answers.
        """
        if not isinstance(answers, Mapping):
            raise InvalidParameter(
                f"the answers are of type {type(answers).__name__}; "
                "give a mapping of attribute to category",
                field="answers",
            )
        for name in answers:
            if name not in self._attributes:
                # A key that is no name may be an answer put in the wrong place, so it is not shown.
                shown = repr(name) if is_name(name) else f"something of type {type(name).__name__}"
                raise InvalidParameter(
                    f"the answers have {shown}, which is no attribute of this survey; "
                    f"its attributes are {', '.join(self._attributes)}: remove it",
                    field=name if is_name(name) else "answers",
                )
        codes = Codes()
        for attribute in self.attributes:
            answer = answers.get(attribute.name)
            codes[attribute.name] = code_answer(attribute, answer, codes, self.routes)
        return codes

    def encode(self, codes: Mapping[str, int], bits: Bits) -> bytes:
        """Build one record: randomise what is perturbed, write the rest in clear.

        Parameters
        ----------
        codes : mapping of str to int
            A code of every attribute, as from `code_answers`, and nothing else.
        bits : Bits
            Source of randomness, consumed in record order.

        Returns
        -------
        bytes
            `record_size` bytes. Calling again draws again, and spends again.

        Raises
        ------
        InvalidParameter
            If the attributes are not exactly the survey's, a code is out of range, or those of a
            follow-up and its router do not go together; codes are not shown.
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
        parts: list[bytes] = []
        for field in self.fields:
            code = field.draw(codes, bits)
            if field.oracle is None:
                parts.append(code.to_bytes(field.size, "little"))
            else:
                parts.append(field.oracle.randomize(code, bits))
        return b"".join(parts)

    def check(self, record: bytes) -> None:
        """Refuse bytes that no device could have sent for this survey.

        Raises
        ------
        MalformedRecord
            With the reason, and the attribute unless the whole length is wrong.
        """
        if len(record) != self.record_size:
            raise MalformedRecord(
                f"the record has {len(record)} bytes; a record of this survey has "
                f"{self.record_size}: send it as it was encoded",
                reason="length",
            )
        clear: dict[str, int] = {}
        for field in self.fields:
            part = record[field.offset : field.end]
            if field.oracle is None:
                self._check_code(field, part)
                clear[field.name] = int.from_bytes(part, "little")
                self._check_clear_follow_up(field, clear)
                continue
            try:
                field.oracle.check(part)
            except MalformedRecord as error:
                raise MalformedRecord(
                    f"{field.name}: {error}", reason=error.reason, field=field.name
                ) from None

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
