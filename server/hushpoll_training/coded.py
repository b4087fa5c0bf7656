"""Files of integer codes without a manifest, as experiments keep them, and the one they are given.

k is the largest code + 1 over the *whole* file: taken from the training part it would differ from
seed to seed, and a domain must not depend on which rows were drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.manifest import Manifest


def read_codes(path: Path) -> dict[str, npt.NDArray[np.int64]]:
    """Read a CSV of integer codes, one column per attribute.

    Returns
    -------
    mapping of str to int64[n]
        By attribute name: the column's, in lower case, with ``_`` for what a name may not hold.

    Raises
    ------
    InvalidParameter
        Naming row and column of the first cell that is no code, or two columns of one name.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    codes: dict[str, npt.NDArray[np.int64]] = {}
    for column in table.columns:
        name = attribute_name(column)
        if name in codes:
            raise InvalidParameter(
                f"{path.name}: two columns give the attribute {name}; rename one", field=name
            )
        texts = table[column]
        wrong = ~texts.str.fullmatch("[0-9]{1,5}").to_numpy(dtype=bool)
        if wrong.any():
            row = int(wrong.argmax())
            raise InvalidParameter(
                f"{path.name} row {row + 1}, column {column!r}: {texts.iloc[row]!r} is no code in "
                "[0, 65535]; give codes, or a manifest that lists the categories",
                field=name,
            )
        codes[name] = texts.to_numpy(dtype=np.int64)
    if not codes or not len(table):
        raise InvalidParameter(f"{path.name} has no rows; give a file with some", field="data")
    return codes


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
        For a name that is no column, or whatever a manifest refuses.
    """
    for field, wanted in (
        ("target", [target]),
        ("protected", [protected]),
        ("sensitive", sensitive),
    ):
        for one in wanted:
            if one not in codes:
                raise InvalidParameter(
                    f"{field} names {one!r}, which is no column; the columns are "
                    f"{', '.join(codes)}",
                    field=field,
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
