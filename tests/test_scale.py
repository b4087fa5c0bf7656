"""docs/explanation/scale.md says what was measured, and what follows from it."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy import create_engine

from benchmarks.scale.needs import ids_written, needs
from benchmarks.scale.page import tables
from hushpoll_server.store import schema, segment_store
from hushpoll_server.store.sqlite import inbox as statements


@pytest.fixture(scope="module")
def measured(root):
    return json.loads((root / "docs" / "scale.json").read_text(encoding="utf-8"))


def test_page_shows_every_table_of_the_measurements(root, measured):
    page = (root / "docs" / "explanation" / "scale.md").read_text(encoding="utf-8")
    made = tables(measured)
    shown = re.findall(r"^```\{hushpoll-scale\} (\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(made)
    assert "| one report over 256 connections: ingest process | 165 µs | 162 µs |" in made["costs"]
    assert "| sealed ids a day, kept for ever | 21.9 MB | 2.19 GB | 21.9 GB |" in made["needs"]


def test_ids_are_written_as_often_as_the_rule_says():
    count = 0

    def insert_chunks(connection, chunks):
        nonlocal count
        count += chunks["count"]
        statements.insert_chunks(connection, chunks)

    engine = create_engine("sqlite://")
    rng = np.random.default_rng(1)
    reports, fold = 5_000, 70  # the last is smaller
    with engine.begin() as connection:
        schema.sealed_ids.create(connection)
        for known in range(0, reports, fold):
            ids = rng.integers(0, 256, (min(fold, reports - known), 16), dtype=np.uint8)
            counted = SimpleNamespace(insert_chunks=insert_chunks, CHUNK_IDS=statements.CHUNK_IDS)
            segment_store.add_ids(connection, counted, 1, ids, known=known, last=False)
    engine.dispose()
    assert ids_written(reports, fold) == count / reports


def test_a_thousand_times_the_reports_need_a_thousand_times_the_disk(measured):
    small, large = needs(measured, 10**6), needs(measured, 10**9)
    for name in ("rate", "records_bytes", "ids_bytes", "parquet_bytes", "single_database"):
        assert getattr(large, name) == pytest.approx(1000 * getattr(small, name))
    # What is written again grows faster.
    assert large.one_version > 1000 * small.one_version
    assert large.log_bytes > 1000 * small.log_bytes
