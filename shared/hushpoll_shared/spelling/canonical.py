"""JSON with one spelling per value: RFC 8785 (JCS) out, I-JSON (RFC 7493) in.

A digest over JSON means something only if every implementation writes the same bytes for the same
value and no two values are read from the same bytes. So the writer follows RFC 8785, and the reader
refuses what readers disagree about: duplicate keys, lone surrogates, NaN, integers beyond 2^53.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

_LONGEST_MEANT: Final = 64
LARGEST_INTEGER: Final = 2**53
"""Integers beyond this, in absolute value, are not exact in JSON; they travel as strings."""

_DEPTH: Final = 64
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_AS_IT_IS: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""Of texts: it escapes exactly what RFC 8785 section 3.2.2.2 does, the same way."""


class InvalidJson(InvalidParameter):
    """Bytes that are not one unambiguous JSON value.

    Its ``member`` is the path of a member whose value is at fault; empty where none is named.
    """

    def __init__(self, message: str, *, field: str = "json") -> None:
        super().__init__(message, field=field)
        self.member = ""


class _NotFinite(InvalidJson):
    """A number that JSON has no form of, which Python reads all the same."""


def canonical_json(value: object) -> bytes:
    """Write a JSON value in the one form of RFC 8785: UTF-8 without white space.

    Keys stand in order of their UTF-16 code units (section 3.2.3), numbers as ECMAScript writes
    them (section 3.2.2.3). Refuses nan, infinity, integers outside ±2^53, lone surrogates, other
    types and nesting deeper than 64.
    """
    parts: list[str] = []
    _write(value, parts, 0)
    try:
        return "".join(parts).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(
            "a string holds half of a surrogate pair, which is no character; remove it",
            field="json",
        ) from None


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hexadecimal digits."""
    # OpenSSL takes milliseconds to load, and an app that embeds the client may start without ever
    # seeing a manifest.
    import hashlib

    return hashlib.sha256(data).hexdigest()


def parse_json(data: bytes | bytearray | str) -> Any:
    """Read one JSON value, refusing what two readers could read differently.

    Numbers are one type, as in ECMAScript: ``1.0`` and ``1e0`` read as the integer 1, and beyond
    ±2^53 the one spelling of a double reads as that double.
    """
    try:
        text = data if isinstance(data, str) else bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson(
            f"the JSON text is not UTF-8 (byte {error.start}); send it as UTF-8"
        ) from None
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
        value = _READER.decode(text)
    except json.JSONDecodeError as error:
        # The decoder's own message holds no text of the document; its `doc` attribute holds all.
        raise InvalidJson(
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}; correct it there"
        ) from None
    except RecursionError:
        raise InvalidJson(f"JSON nested deeper than {_DEPTH}; flatten it") from None
    if isinstance(data, str) or not _is_simple(text):
        _check_read(value, 0)
    return value


def _is_simple(text: str) -> bool:
    """Whether a text that was UTF-8 has no escape, no NaN or infinity, and few brackets.

    It cannot have what `_check_read` refuses. Reports are so, and come by the thousand.
    """
    return (
        "\\" not in text
        and "NaN" not in text
        and "Infinity" not in text
        and text.count("[") + text.count("{") <= _DEPTH
    )


def _meant(key: object, allowed: frozenset[str]) -> str | None:
    # a manifest may be hostile: looking for a likeness takes time quadratic in the key's length
    if not isinstance(key, str) or len(key) > _LONGEST_MEANT:
        return None
    from hushpoll_shared.spelling.nearest import (
        nearest_name,  # not needed for a manifest without faults
    )

    return nearest_name(key, sorted(allowed))


def check_keys(
    value: Mapping[Any, object],
    allowed: frozenset[str],
    required: tuple[str, ...],
    *,
    where: str,
    document: str = "the manifest",
) -> None:
    """Refuse a mapping with a key that is not known, or without one that is needed, by its path."""
    prefix = f"{where}." if where else ""
    for key in value:
        if key not in allowed:
            listed = f"the keys are {', '.join(sorted(allowed))}: remove or rename it"
            if close := _meant(key, allowed):
                listed = f"did you mean {show(close)}? T{listed[1:]}"
            raise InvalidParameter(
                f"{where or document} has the unknown key {show(key)}; {listed}",
                field=f"{prefix}{key}"[:200],
            )
    for key in required:
        if value.get(key) is None:
            raise InvalidParameter(
                f"{where or document} has no {key}; add it", field=f"{prefix}{key}"
            )


def _write(value: object, parts: list[str], depth: int) -> None:
    if depth == _DEPTH and isinstance(value, list | tuple | Mapping):
        raise InvalidParameter(f"JSON nested deeper than {_DEPTH}; flatten it", field="json")
    if value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, str):
        parts.append(_AS_IT_IS.encode(value))
    elif isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise InvalidParameter(
                f"integer {value} is outside ±2^53, where JSON numbers are not exact; "
                "write it as a string",
                field="json",
            )
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        parts.append(_float(value))
    elif isinstance(value, (list, tuple)):
        if all(type(item) is str for item in value):  # the categories of a large domain
            parts.append(_AS_IT_IS.encode(value))
            return
        parts.append("[")
        for index, item in enumerate(value):
            if index:
                parts.append(",")
            _write(item, parts, depth + 1)
        parts.append("]")
    elif isinstance(value, Mapping):
        _write_object(value, parts, depth)
    else:
        raise InvalidParameter(
            f"a value of type {type(value).__name__} has no JSON form; use null, true, false, a "
            "number, a string, a list or a mapping",
            field="json",
        )


def _write_object(value: Mapping[Any, object], parts: list[str], depth: int) -> None:
    for key in value:
        if not isinstance(key, str):
            raise InvalidParameter(
                f"a JSON key of type {type(key).__name__}; keys must be strings: put it in quotes",
                field="json",
            )
    parts.append("{")
    for index, key in enumerate(sorted(value, key=_utf16)):
        if index:
            parts.append(",")
        parts.append(_AS_IT_IS.encode(key))
        parts.append(":")
        _write(value[key], parts, depth + 1)
    parts.append("}")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _float(value: float) -> str:
    """Write a double as ECMA-262 section 6.1.6.1.20 (Number::toString) does."""
    if not math.isfinite(value):
        raise InvalidParameter(f"{value} has no JSON form; numbers must be finite", field="json")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # repr gives the shortest digits that read back, the same digits as ECMAScript's.
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(power or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return f"{sign}{digits}{'0' * (point - count)}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidJson("a JSON object has the same key twice; keep one of them")
    return value


def _integer(literal: str) -> int | float:
    # 22 characters hold every integer that a double is spelled as (below 10^21, and a sign);
    # longer ones are not converted, because converting takes time quadratic in the length.
    if len(literal) <= 22:
        value = int(literal)
        if abs(value) <= LARGEST_INTEGER:
            return value
        if _float(float(value)) == literal:
            return float(value)
    raise InvalidJson(
        "a JSON integer is outside ±2^53, where readers round it differently; write it as a string"
    )


def _number(literal: str) -> int | float:
    value = float(literal)
    if not math.isfinite(value):
        raise InvalidJson("a JSON number is too large for a double; write it as a string")
    if value.is_integer() and abs(value) <= LARGEST_INTEGER:
        return int(value)
    return value


def _check_read(value: object, depth: int) -> None:
    if depth == _DEPTH and isinstance(value, list | dict):
        raise InvalidJson(f"JSON nested deeper than {_DEPTH}; flatten it")
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise InvalidJson("a JSON string holds half of a surrogate pair; remove it")
    elif isinstance(value, float):
        if not math.isfinite(value):
            literal = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            raise _NotFinite(f"{literal} is not JSON; write a finite number or a string")
    elif isinstance(value, list | dict):
        items: Iterable[tuple[Any, Any]] = (
            value.items() if isinstance(value, dict) else enumerate(value)
        )
        for key, item in items:
            if isinstance(key, str):
                _check_read(key, depth)
            try:
                _check_read(item, depth + 1)
            except _NotFinite as error:
                error.member = f"{key}.{error.member}" if error.member else str(key)
                raise


_READER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_number
)
