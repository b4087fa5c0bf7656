"""Adult as the paper used it: codes in a CSV, and the manifest that describes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from hushpoll_shared import Manifest

SENSITIVE = ("gender", "race", "native-country", "age")
# One of each family, for figures that should not hang on a single protocol.
MIXED = dict(zip(SENSITIVE, ("GRR", "SS", "OLH", "OUE"), strict=True))


def load_codes(path: Path) -> pd.DataFrame:
    """Read the integer codes, int64[n] a column."""
    return pd.read_csv(path, dtype="int64")


def draft(codes: pd.DataFrame, *, protocols: dict[str, str], split: str) -> dict[str, Any]:
    """Describe Adult's codes at epsilon 4: k = largest code + 1, income 1 is positive."""
    attributes: list[dict[str, Any]] = []
    for name in codes.columns:
        attribute: dict[str, Any] = {
            "name": name,
            "categories": [str(code) for code in range(int(codes[name].max()) + 1)],
        }
        if name == "income":
            attribute |= {"role": "target", "positive": "1"}
        elif name in SENSITIVE:
            attribute |= {"role": "sensitive", "protocol": protocols[name]}
        else:
            attribute |= {"role": "plain"}
        attributes.append(attribute)
    return {
        "name": "adult",
        "version": 1,
        "title": "Adult",
        "epsilon": "4",
        "split": split,
        "attributes": attributes,
        "protected": {"attribute": "gender", "privileged": "1", "unprivileged": "0"},
    }


def resolve(codes: pd.DataFrame, *, protocol: str, split: str) -> Any:
    """Return Adult's published survey with one protocol for every sensitive attribute."""
    protocols = dict.fromkeys(SENSITIVE, protocol)
    return Manifest.from_dict(draft(codes, protocols=protocols, split=split)).resolve()
