"""The files of pinned values: which parts they have, how they are written, read and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from pinned import cells, fleet, models, plans, protocols, surveys
from pinned.arithmetic import arithmetic, versions
from pinned.comparison import differences

VALUES = Path(__file__).parent / "values"

WIDTH = 400
"""Characters up to which a value is written on one line."""

Parts = Mapping[str, Callable[[], dict[str, Any]]]

WITHOUT_DATA: dict[str, Parts] = {
    "protocols": protocols.parts(),
    "surveys": surveys.parts(),
    "plans": plans.parts(),
    "models": models.parts(),
    "fleet": fleet.parts(),
}
"""Files that need no data set."""

CELLS = "cells"
FULL_CELLS = "cells-full"


def parts_of(name: str, data: Path) -> Parts:
    """Return what computes the parts of a file; `data` is the folder of the data sets."""
    if name == CELLS:
        return cells.parts(data)
    return cells.full_parts(data) if name == FULL_CELLS else WITHOUT_DATA[name]


def compute(part: Callable[[], dict[str, Any]]) -> Any:
    """Compute a part as it is written to a file.

    Linear algebra has one thread: how it divides a sum among several changes the last bit.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        return json.loads(json.dumps(part(), allow_nan=False))


def read(name: str) -> dict[str, Any]:
    """Read a file of values."""
    content: dict[str, Any] = json.loads((VALUES / f"{name}.json").read_text(encoding="ascii"))
    return content


def compared(name: str, key: str, found: Any, *, strict: bool = False) -> list[str]:
    """Return the places where a computed part differs from the pinned one.

    Strictly, every bit counts, whatever made the file.
    """
    content = read(name)
    same = strict or content["arithmetic"] == arithmetic()
    return list(differences(content["parts"][key], found, same=same, strict=strict, path=key))


def origin(name: str) -> str:
    """Return what a file was made with, as far as it is not what is here."""
    content, told = read(name), ""
    if content["versions"] != versions():
        told += f", made with {_told(content['versions'])}, where here is {_told(versions())}"
    if content["arithmetic"] != arithmetic():
        told += ", made on a machine whose arithmetic differs in the last bits"
    return told


def write(name: str, found: Mapping[str, Any], folder: Path) -> None:
    """Write a file: the same bytes for the same values."""
    content = {"versions": versions(), "arithmetic": arithmetic(), "parts": found}
    text = _lines(content)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(text + "\n", encoding="ascii")


def _lines(value: Any, indent: int = 0) -> str:
    """Return JSON with a line for each value that fits on one."""
    short = json.dumps(value, allow_nan=False)
    if len(short) <= WIDTH or not isinstance(value, dict | list):
        return short
    if isinstance(value, dict):
        inner = [f"{json.dumps(key)}: {_lines(one, indent + 1)}" for key, one in value.items()]
    else:
        inner = [_lines(one, indent + 1) for one in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    step = "\n" + " " * indent
    return f"{start}{step} " + f",{step} ".join(inner) + f"{step}{end}"


def _told(used: Mapping[str, str]) -> str:
    return ", ".join(f"{library} {version}" for library, version in used.items())
