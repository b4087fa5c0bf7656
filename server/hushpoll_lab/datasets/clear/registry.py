"""Data sets of rows in clear, by name: where each comes from, and the options that it takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from hushpoll_lab.datasets.clear import synthetic, uci
from hushpoll_lab.datasets.clear.rows import ClearRows
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_training.data.coded import attribute_name, read_codes

MISSING: Final = ("drop", "category")
"""How rows with a missing category are read: dropped, or with a category of its own."""


@dataclass(frozen=True, slots=True)
class ClearFile:
    """A data set in files."""

    files: tuple[str, ...]
    """Their names; the first is the one whose path is given."""
    load: Callable[..., ClearRows]
    """From the path of the first file, and ``missing``, to the rows."""


FILES: Final[Mapping[str, ClearFile]] = {
    "adult-published": ClearFile(uci.ADULT_FILES, uci.load_adult),
    "credit-card": ClearFile(uci.CREDIT_CARD_FILES, uci.load_credit_card),
    "abalone": ClearFile(uci.ABALONE_FILES, uci.load_abalone),
}

DRAWN: Final[Mapping[str, Callable[..., ClearRows]]] = {
    "synthetic": synthetic.draw_synthetic,
    "two-groups": synthetic.draw_two_groups,
}
"""Data sets that a program draws, from whole numbers by name."""


@dataclass(frozen=True, slots=True)
class ClearSource:
    """Which rows an experiment takes."""

    name: str | None = None
    """In `FILES` or `DRAWN`; None for a file of codes."""
    data: Path | None = None
    """The file, or the folder that holds it; by default the folder of ``HUSHPOLL_DATA``."""
    missing: str = "drop"
    """One of `MISSING`."""
    options: Mapping[str, int] = field(default_factory=dict)
    """What a data set that is drawn takes, such as ``rows``."""
    target: str | None = None
    """Column of a file of codes, as `protected`."""
    protected: str | None = None
    ignore: tuple[str, ...] = ()
    """Columns of a file of codes that are not read."""

    def load(self) -> ClearRows:
        """Read or draw the rows.

        Refuses options that the data set does not take, and files of other data.
        """
        if self.name is not None and self.name in DRAWN:
            try:
                return DRAWN[self.name](**self.options)
            except TypeError as error:
                raise InvalidParameter(
                    f"options is {show(dict(self.options))}, which {self.name} does not take "
                    f"({error})",
                    field="options",
                ) from None
        if self.name is None:
            return self._coded()
        return FILES[self.name].load(self._path(FILES[self.name].files[0]), missing=self.missing)

    def _path(self, file: str) -> Path:
        folder = os.environ.get("HUSHPOLL_DATA")
        path = self.data if self.data is not None else Path(folder) if folder else None
        if path is None:
            raise InvalidParameter(
                f"data is missing: {self.name} is read from {file}; give its path with --data, or "
                "set HUSHPOLL_DATA to the folder that has it",
                field="data",
            )
        return path / file if path.is_dir() else path

    def _coded(self) -> ClearRows:
        assert self.data is not None  # noqa: S101  the configuration has refused it
        codes = read_codes(self.data, ignored=self.ignore)
        target, protected = (attribute_name(str(name)) for name in (self.target, self.protected))
        for column, key in ((target, "target"), (protected, "protected")):
            if column not in codes:
                raise InvalidParameter(
                    f"{key} names {column!r}, which is no column of {self.data}; the columns are "
                    f"{', '.join(codes)}",
                    field=key,
                )
        for column, limit in ((target, 1), (protected, None)):
            if limit is not None and codes[column].max(initial=0) > limit:
                raise InvalidParameter(
                    f"target {column} of {self.data} has the code {codes[column].max()}; give a "
                    "column of the codes 0 and 1, where 1 is positive",
                    field="target",
                )
        categories = {
            name: tuple(map(str, np.arange(values.max() + 1))) for name, values in codes.items()
        }
        return ClearRows(self.data.stem, {}, {}, codes, categories, target, protected)


def read_source(given: Mapping[str, Any]) -> ClearSource:
    """Read which rows a configuration names: a data set here, or a file of codes."""
    name, data = given.get("dataset"), given.get("data")
    if data is not None and (not isinstance(data, str | Path) or not str(data)):
        raise InvalidParameter(f"data is {show(data)}; it must be a path", field="data")
    path = None if data is None else Path(data)
    if name is None:
        for key in ("data", "target", "protected"):
            if not isinstance(given.get(key), str | Path):
                raise InvalidParameter(
                    f"{key} is missing; set {key}, or name a dataset out of "
                    f"{', '.join((*FILES, *DRAWN))}",
                    field=key,
                )
        ignore = given.get("ignore") or ()
        if not isinstance(ignore, list | tuple):
            raise InvalidParameter(
                f"ignore is {show(ignore)}; it must be a list of columns, such as [id, notes]",
                field="ignore",
            )
        if given["target"] == given["protected"]:
            raise InvalidParameter(
                f"protected is {show(given['protected'])}, as target is; name the column of the "
                "groups, another one than that of the labels",
                field="protected",
            )
        return ClearSource(
            data=path, target=str(given["target"]), protected=str(given["protected"]),
            ignore=tuple(map(str, ignore)),
        )  # fmt: skip
    if name not in (*FILES, *DRAWN):
        raise InvalidParameter(
            f"dataset is {show(name)}; it must be one of {', '.join((*FILES, *DRAWN))}",
            field="dataset",
        )
    for key in ("target", "protected", "ignore"):
        if given.get(key) is not None:
            raise InvalidParameter(f"{key} is the dataset's to say; leave it out", field=key)
    missing = given.get("missing") or "drop"
    if missing not in MISSING:
        raise InvalidParameter(
            f"missing is {show(missing)}; it must be one of {', '.join(MISSING)}", field="missing"
        )
    options = given.get("options") or {}
    if not isinstance(options, Mapping) or (options and name not in DRAWN):
        raise InvalidParameter(
            f"options is {show(options)}; it must map names to whole numbers, for a data set that "
            f"is drawn ({', '.join(DRAWN)})",
            field="options",
        )
    for key, value in options.items():
        least = 2 if key == "rows" else 0
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value < 2**31:
            raise InvalidParameter(
                f"options.{key} is {show(value)}; it must be a whole number in [{least}, "
                "2147483648)",
                field="options",
            )
    return ClearSource(str(name), path, str(missing), dict(options))
