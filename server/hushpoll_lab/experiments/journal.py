"""The folder of an experiment: its description, and a journal of the cells that are done.

A finished cell is one line of JSON, on the disk before the next one is counted. A process that is
killed loses at most the cells that it was working on; a line that it had half written is dropped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from hushpoll_lab.experiments.grid import Task
from hushpoll_lab.experiments.kinds import AnyCell
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject, JsonValue
from hushpoll_training.runs.whole_file import sync_folder, write_file

if sys.platform != "win32":
    import fcntl

FORMAT: Final = 1
DESCRIPTION: Final = "experiment.json"
CELLS: Final = "cells.jsonl"
_LOCK: Final = ".lock"


class Journal:
    """Finished cells, each with its result or its ``error``; the last line on each counts."""

    def __init__(self, stream: BinaryIO, cells: dict[AnyCell, JsonMembers]) -> None:
        self._stream = stream
        self.cells = cells

    def append(self, task: AnyCell, result: JsonObject) -> None:
        """Write a cell durably; a full disk ends the run."""
        line = json.dumps({**task._asdict(), **result}, ensure_ascii=False, allow_nan=False)
        self._stream.write(line.encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.cells[task] = dict(result)


@contextmanager
def open_journal(out: Path, description: JsonObject) -> Iterator[Journal]:
    """Begin or resume an experiment in a folder, to which no other run writes meanwhile.

    The description is what results depend on, as JSON. The folder is new, empty, or of the same
    experiment; refuses another's (each difference is shown), one that is in use or holds anything
    else, and a damaged journal.
    """
    out.mkdir(parents=True, exist_ok=True)
    _refuse_strangers(out)
    with (out / _LOCK).open("ab") as lock:
        _claim(out, lock)
        _describe(out, description)
        path = out / CELLS
        cells, end = _read(path)
        with path.open("ab") as stream:
            # Half a line, which a killed process has left.
            stream.truncate(end)
            sync_folder(out)
            yield Journal(stream, cells)


def read_cells(out: Path) -> dict[AnyCell, JsonMembers]:
    """Return the cells of a folder that are done so far; a run may be writing to it."""
    return _read(out / CELLS)[0]


def read_description(out: Path) -> JsonMembers:
    """Return what a folder says about its experiment; refuses what is no JSON object."""
    path = out / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(description, dict):
        raise _damaged(path, "it holds no object")
    return description


def refuse_other_data(results: Sequence[Path], descriptions: Sequence[JsonObject | None]) -> None:
    """Refuse runs whose data have another SHA-256 than those of the first."""
    digests = [_digest(description or {}) for description in descriptions]
    for path, digest in zip(results, digests, strict=True):
        if digest != digests[0]:
            raise InvalidParameter(
                f"results {str(path)!r} is of other data than {str(results[0])!r}; give runs on "
                "the same data",
                field="results",
            )


def _digest(description: JsonObject) -> JsonValue:
    data = description.get("data")
    return data.get("sha256") if isinstance(data, Mapping) else None


def _claim(out: Path, lock: BinaryIO) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidParameter(
            f"out {str(out)!r} is in use by another run; wait for it, or give another folder",
            field="out",
        ) from None


def _refuse_strangers(out: Path) -> None:
    strange = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    if strange and not (out / DESCRIPTION).is_file():
        raise InvalidParameter(
            f"out {str(out)!r} holds {strange[0]!r} and no experiment; give a new or empty folder",
            field="out",
        )


def _describe(out: Path, description: JsonObject) -> None:
    if (out / DESCRIPTION).is_file():
        recorded = read_description(out)
        changed = list(_differences({"": recorded}, {"": dict(description)}))
        if changed:
            raise InvalidParameter(
                f"out {str(out)!r} holds another experiment: {'; '.join(changed)}. Give another "
                "folder, or run with what was there",
                field="out",
            )
        return
    text = json.dumps({"format": FORMAT, **description}, indent=2, ensure_ascii=False) + "\n"
    write_file(out / DESCRIPTION, text.encode())


def _differences(was: JsonObject, now: JsonObject, path: str = "") -> Iterator[str]:
    for key in dict.fromkeys((*was, *now)):
        before, after = was.get(key), now.get(key)
        name = f"{path}.{key}" if path else str(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, name)
        elif before != after and name not in {"format"}:
            yield f"{name} was {_spelling(before)} and is {_spelling(after)}"


def _spelling(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


def _read(path: Path) -> tuple[dict[AnyCell, JsonMembers], int]:
    if not path.is_file():
        return {}, 0
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    cells: dict[AnyCell, JsonMembers] = {}
    for number, line in enumerate(content[:end].splitlines(), start=1):
        try:
            result = json.loads(line)
            if not isinstance(result, dict):
                raise ValueError("no object")
            kind: type[AnyCell] = Trial if "method" in result else Task
            task = kind(*(result.pop(name) for name in kind._fields))
            if "error" not in result and not {"metrics", "timings"} <= set(result):
                raise ValueError("neither metrics nor an error")
        except (ValueError, KeyError) as error:
            raise _damaged(path, f"line {number} is no cell ({error})") from None
        cells[task] = result
    return cells, end


def _damaged(path: Path, what: str) -> InvalidParameter:
    return InvalidParameter(
        f"{path} is damaged: {what}; restore it, or give another folder", field="out"
    )
