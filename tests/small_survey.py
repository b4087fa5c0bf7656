"""A small survey with a real dependence, at any protocol and budget, and files of its people."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header


def draft(*, protocol="GRR", epsilon="64", target=None, split="uniform", **changes):
    """Return the manifest of the small survey as a dict; `target` changes the target."""
    return {
        "name": "small",
        "version": 1,
        "title": "A small survey",
        "epsilon": epsilon,
        "split": split,
        "protocol": protocol,
        "attributes": [
            {
                "name": "gender",
                "role": "sensitive",
                "categories": ["Female", "Male"],
                "missing": "No answer",
            },
            {"name": "age", "role": "sensitive", "range": [1, 6]},
            {"name": "job", "role": "plain", "categories": ["a, b", "a: b", "{c}"]},
            {
                "name": "income",
                "role": "target",
                "categories": ["low", "high"],
                "positive": "high",
                **(target or {}),
            },
        ],
        "protected": {"attribute": "gender", "privileged": "Male", "unprivileged": "Female"},
    } | changes


def draw(n, seed=1):
    """Draw codes of `n` people; income depends on gender, age and job."""
    rng = np.random.default_rng(seed)
    gender = rng.choice(3, n, p=[0.48, 0.48, 0.04])
    age = rng.integers(0, 6, n)
    job = rng.integers(0, 3, n)
    logit = -2.0 + 1.2 * (gender == 1) + 0.5 * age - 0.9 * (job == 2)
    income = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    return {"gender": gender, "age": age, "job": job, "income": income}


@pytest.fixture(name="draft", scope="session")
def draft_fixture():
    return draft


@pytest.fixture(scope="session")
def survey():
    """The published survey."""
    return lambda **changes: Manifest.from_dict(draft(**changes)).resolve()


@pytest.fixture(scope="session")
def people():
    return draw


@pytest.fixture(scope="session")
def perturbed():
    """Records of people, perturbed by a seeded generator."""
    return lambda published, codes, seed=7: encode_many(
        published, codes, np.random.default_rng(seed)
    )


@pytest.fixture(scope="session")
def write_rows():
    """Write codes as the survey's categories to a CSV file, and return its path."""

    def write(path, published, codes, *, without=()):
        used = [one for one in published.attributes if one.name not in without]
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([one.name for one in used])
            columns = ([one.domain[code] for code in codes[one.name]] for one in used)
            writer.writerows(zip(*columns, strict=True))
        return path

    return write


@pytest.fixture(scope="session")
def write_records():
    """Write a file of records, as an export is, and return its path."""

    def write(path, published, records):
        path.write_bytes(pack_records_header(published, len(records)) + records.tobytes())
        return path

    return write
