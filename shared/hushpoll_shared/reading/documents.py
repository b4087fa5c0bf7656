"""Documents that people bring as JSON or YAML: manifests, drafts and survey designs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.text_files import named, read_text
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json


def read_document(path: Path, *, field: str, noun: str) -> Any:
    """Return the value of a file in UTF-8 that ends in .json, .yaml or .yml.

    Parameters
    ----------
    field : str
        What it was given as.
    noun : str
        What errors call it, such as ``the design``.

    Raises
    ------
    InvalidParameter
        If the file has another ending, or is no text in UTF-8, or not JSON or YAML.
    MissingExtra
        For YAML without the extra ``cli``.
    OSError
        If it cannot be read.
    """
    ending = path.suffix.lower()
    if ending not in {".json", ".yaml", ".yml"}:
        raise InvalidParameter(
            f"{noun} {named(path)} must end in .json, .yaml or .yml; give a file of JSON or YAML, "
            "and rename it if need be",
            field=field,
        )
    text = read_text(path, field=field)
    try:
        if not text.strip():
            raise InvalidParameter(
                f"{noun} is empty; write it, or give another file", field="manifest"
            )
        if ending == ".json":
            return parse_json(text)
        from hushpoll_shared.reading.yaml_reader import parse_yaml

        return parse_yaml(text)
    except InvalidParameter as error:
        kind = InvalidJson if isinstance(error, InvalidJson) else InvalidParameter
        raise kind(f"{named(path)}: {error}", field=error.field) from None
