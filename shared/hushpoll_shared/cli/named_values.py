"""Values with names on a command line: ``name=value``, or files of JSON.

A learner's parameters are given so. The program that trains checks their names and bounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole
from hushpoll_shared.reading.text_files import read_text


def named_values(texts: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` texts, unchecked, and paths of files with an object; later ones win."""
    parameters: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and not Path(text).is_file():
            parameters[name.strip()] = _number(value.strip())
        else:
            parameters.update(_from_file(Path(text)))
    return parameters


def _from_file(path: Path) -> dict[str, Any]:
    remedy = 'give name=value, or the path of a JSON file such as {"max_depth": 5}'
    try:
        content = json.loads(read_text(path, field="params"))
    except (OSError, ValueError) as error:
        raise refusal_of("params")(f"{str(path)!r} cannot be read ({error}); {remedy}") from error
    if not isinstance(content, dict):
        raise refusal_of("params")(f"{str(path)!r} holds no object; {remedy}")
    return content


def _number(text: str) -> int | float | str:
    for parse in (parse_whole, parse_number):
        try:
            return parse(text)
        except ValueError:
            continue
    return text
