"""Files of integer codes without a manifest: how they are read, and the manifest they are given.

k is the largest code + 1 over the *whole* file: taken from the training part it would differ from
seed to seed, and a domain must not depend on which rows were drawn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.text import show
from hushpoll_training.data.rows import Column, read_coded

LARGEST_CODE = 65_535


def read_codes(path: Path, *, ignored: Collection[str] = ()) -> dict[str, npt.NDArray[np.int64]]:
    """Read a CSV or Parquet file of integer codes, one column per attribute.

    Parameters
    ----------
    path : Path
        CSV: UTF-8, comma-separated, with a header.
    ignored : collection of str
        Columns that are not read.

    Returns
    -------
    mapping of str to int64[n]
        By attribute name: the column's, in lower case, with ``_`` for what a name may not hold.

    Raises
    ------
    InvalidParameter
        Naming row and column of the first cell that is no code, or two columns of one name.
    OSError
        If the file cannot be read.
    """

    def columns(header: Sequence[str]) -> list[Column]:
        read = [
            Column(attribute_name(column), position, _code)
            for position, column in enumerate(header)
            if column not in ignored
        ]
        names = [column.name for column in read]
        for name in names:
            if names.count(name) > 1:
                raise InvalidParameter(
                    f"{path}: two columns give the attribute {name}; rename one", field=name
                )
        return read

    return read_coded(path, "data", columns)[0]


def _code(text: str) -> int:
    if re.fullmatch("[0-9]{1,5}", text, re.ASCII) is None or int(text) > LARGEST_CODE:
        raise InvalidParameter(
            f"{show(text)} is no code in [0, {LARGEST_CODE}]; give codes, or a manifest that lists "
            "the categories",
            field="data",
        )
    return int(text)


def attribute_name(column: str) -> str:
    """Return the name that a manifest can give a column."""
    return re.sub("[^a-z0-9_-]", "_", column.lower())


def describe_codes(
    codes: dict[str, npt.NDArray[np.int64]],
    *,
    name: str,
    target: str,
    protected: str,
    sensitive: Sequence[str],
    protocol: str,
    split: str,
    epsilon: str,
) -> Manifest:
    """Return the manifest of a file of codes: categories are the codes, in order.

    Code 1 of the target is positive and code 1 of the protected attribute privileged; the group
    compared with it is code 0.

    Raises
    ------
    InvalidParameter
        For a name that is no column, a sensitive target, or whatever a manifest refuses.
    """
    for field, wanted in (
        ("target", [target]),
        ("protected", [protected]),
        ("sensitive", sensitive),
    ):
        for name_of_column in wanted:
            if name_of_column not in codes:
                raise InvalidParameter(
                    f"{field} names {name_of_column!r}, which is no column; the columns are "
                    f"{', '.join(codes)}",
                    field=field,
                )
    if target in sensitive:
        raise InvalidParameter(
            f"sensitive names {target!r}, the target, whose protocol only a manifest can give; "
            "leave it out, or give a manifest",
            field="sensitive",
        )
    attributes = []
    for column, values in codes.items():
        attribute = {
            "name": column,
            "role": "sensitive" if column in sensitive else "plain",
            "categories": [str(code) for code in range(int(values.max()) + 1)],
        }
        if column == target:
            attribute |= {"role": "target", "positive": "1"}
        attributes.append(attribute)
    return Manifest.from_dict(
        {
            "name": name,
            "version": 1,
            "title": name,
            "epsilon": epsilon,
            "split": split,
            "protocol": protocol,
            "attributes": attributes,
            "protected": {"attribute": protected, "privileged": ["1"], "unprivileged": ["0"]},
        }
    )


def override(
    manifest: Manifest,
    *,
    protocol: str | None = None,
    split: str | None = None,
    epsilon: str | None = None,
) -> Manifest:
    """Return the manifest with another protocol, split or epsilon.

    Parameters
    ----------
    manifest : Manifest
        A draft.
    protocol : str, optional
        That of every sensitive attribute, whatever each names; a target keeps its own.
    split : str, optional
        ``uniform``, ``k-based`` or ``optimal``.
    epsilon : str, optional
        The total.

    Raises
    ------
    InvalidParameter
        For a value that a manifest refuses.
    """
    draft = manifest.to_dict()
    if protocol is not None:
        draft["protocol"] = protocol
        for attribute in draft["attributes"]:
            if attribute["role"] == "sensitive":
                attribute.pop("protocol", None)
    if split is not None:
        draft["split"] = split
    if epsilon is not None:
        draft["epsilon"] = epsilon
    try:
        return Manifest.from_dict(draft)
    except InvalidParameter as error:
        raise InvalidParameter(f"with the options: {error}", field=error.field) from None
