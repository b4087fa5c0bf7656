"""Adult as the paper used it: codes in a CSV, and the manifest that describes them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from hushpoll_shared import Manifest, Published

SENSITIVE = ("gender", "race", "native-country", "age")


def load_codes(path: Path) -> pd.DataFrame:
    """Read the integer codes, int64[n] a column."""
    return pd.read_csv(path, dtype="int64")


def publish(codes: pd.DataFrame, *, protocol: str, split: str, epsilon: str = "4") -> Published:
    """Resolve the manifest of Adult's codes: k = largest code + 1, income 1 is positive."""
    attributes = []
    for name in codes.columns:
        role = "target" if name == "income" else "sensitive" if name in SENSITIVE else "plain"
        attribute = {
            "name": name,
            "role": role,
            "categories": [str(code) for code in range(int(codes[name].max()) + 1)],
        }
        if role == "target":
            attribute["positive"] = "1"
        attributes.append(attribute)
    return Manifest.from_dict(
        {
            "name": "adult",
            "version": 1,
            "title": "Adult",
            "epsilon": epsilon,
            "split": split,
            "protocol": protocol,
            "attributes": attributes,
            "protected": {"attribute": "gender", "privileged": "1", "unprivileged": "0"},
        }
    ).resolve()
