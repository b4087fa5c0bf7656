from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from decoded import part_of
from hushpoll_protocols import InvalidParameter, MalformedRecord, SecureBits
from hushpoll_shared import Published
from hushpoll_shared.wire import batch
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.reports import Report, new_report_id


def scalar_records(published: Published, answers: dict[str, Any], n: int) -> np.ndarray:
    codes = published.layout.code_answers(answers)
    rows = b"".join(published.layout.encode(codes, SecureBits()) for _ in range(n))
    return np.frombuffer(rows, np.uint8).reshape(n, -1).copy()


def random_codes(published: Published, n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {attribute.name: rng.integers(0, attribute.k, n) for attribute in published.attributes}


def test_column_is_the_scalar_slice(published: Published, answers: dict[str, Any]) -> None:
    records = scalar_records(published, answers, 5)
    for field in published.layout.fields:
        part = batch.column(published.layout, records, field.name)
        assert part.base is not None
        assert part.shape == (5, field.size)
        for row in range(5):
            assert part[row].tobytes() == part_of(
                published.layout, records[row].tobytes(), field.name
            )


def test_codes_of_clear_attributes_are_the_encoded_ones(
    published: Published, answers: dict[str, Any]
) -> None:
    records = scalar_records(published, answers, 3)
    assert batch.codes(published.layout, records, "education").tolist() == [1, 1, 1]
    assert batch.codes(published.layout, records, "postcode").tolist() == [299, 299, 299]


def test_codes_of_a_perturbed_attribute_are_refused(
    published: Published, answers: dict[str, Any]
) -> None:
    records = scalar_records(published, answers, 1)
    with pytest.raises(InvalidParameter, match="perturbed by SS") as caught:
        batch.codes(published.layout, records, "gender")
    assert caught.value.field == "gender"


def test_encode_many_gives_well_formed_records_with_the_clear_codes(published: Published) -> None:
    codes = random_codes(published, 400, seed=1)
    records = batch.encode_many(published, codes, np.random.default_rng(2))
    assert records.shape == (400, published.layout.record_size)
    for row in records:
        published.layout.check(row.tobytes())
    for name in ("education", "postcode"):
        assert (batch.codes(published.layout, records, name) == codes[name]).all()


def test_encode_many_perturbs_with_each_attribute_own_law(published: Published) -> None:
    n = 20_000
    codes = {attribute.name: np.zeros(n, int) for attribute in published.attributes}
    records = batch.encode_many(published, codes, np.random.default_rng(3))
    oracle = published.attribute("income").oracle
    assert oracle is not None
    kept = int((batch.column(published.layout, records, "income")[:, 0] == 0).sum())
    p = float(oracle.p)
    assert abs(kept - n * p) < 5 * (n * p * (1 - p)) ** 0.5


def test_encode_many_of_no_rows_is_empty(published: Published) -> None:
    records = batch.encode_many(
        published, random_codes(published, 0, seed=1), np.random.default_rng(2)
    )
    assert records.shape == (0, published.layout.record_size)


@pytest.mark.parametrize("fault", ["missing", "extra", "length", "range", "negative", "dtype"])
def test_encode_many_refuses_bad_codes(published: Published, fault: str) -> None:
    codes = random_codes(published, 4, seed=1)
    if fault == "missing":
        del codes["age"]
    elif fault == "extra":
        codes["other"] = codes["age"]
    elif fault == "length":
        codes["age"] = codes["age"][:3]
    elif fault == "range":
        codes["age"] = np.array([0, 0, 0, 74])
    elif fault == "negative":
        codes["age"] = np.array([0, 0, 0, -1])
    else:
        codes["age"] = codes["age"] + 0.5
    with pytest.raises(InvalidParameter) as caught:
        batch.encode_many(published, codes, np.random.default_rng(2))
    assert caught.value.field in {"age", "codes"}


def test_malformed_many_agrees_with_the_scalar_check_on_damaged_rows(published: Published) -> None:
    rng = np.random.default_rng(4)
    records = batch.encode_many(published, random_codes(published, 600, seed=5), rng)
    damaged = rng.random(records.shape) < 0.03
    records[damaged] = rng.integers(0, 256, damaged.sum(), dtype=np.uint8)
    bad, rows = batch.malformed_many(published, records)
    expected = []
    for index, row in enumerate(records):
        try:
            published.layout.check(row.tobytes())
        except MalformedRecord as error:
            expected.append((index, error.field, error.reason))
    assert [(row.index, row.field, row.reason) for row in rows] == expected
    assert np.flatnonzero(bad).tolist() == [row[0] for row in expected]
    assert {row.reason for row in rows} == {"range", "padding", "popcount"}
    assert 50 < len(rows) < 600


def test_records_of_another_width_are_refused(published: Published) -> None:
    wrong = np.zeros((2, published.layout.record_size + 1), np.uint8)
    for call in (
        lambda: batch.malformed_many(published, wrong),
        lambda: batch.column(published.layout, wrong, "age"),
        lambda: batch.column(published.layout, wrong[0], "age"),
        lambda: batch.column(published.layout, wrong[:, 1:].astype(int), "age"),
    ):
        with pytest.raises(InvalidParameter) as caught:
            call()
        assert caught.value.field == "records"


def test_rows_and_reports_pack_to_the_same_bytes(
    published: Published, answers: dict[str, Any]
) -> None:
    records = scalar_records(published, answers, 4)
    ids = [new_report_id() for _ in range(4)]
    reports = [Report(i, r.tobytes()) for i, r in zip(ids, records, strict=True)]
    body = wire.pack_reports(published.digest, reports)
    array = np.frombuffer(b"".join(ids), np.uint8).reshape(4, 16)
    assert batch.pack_rows(published.digest, array, records) == body
    digest, got_ids, got = batch.unpack_rows(body, published.layout.record_size)
    assert digest == published.digest
    assert (got_ids == array).all()
    assert (got == records).all()


def test_unpack_rows_asks_for_the_size_of_the_digest(published: Published) -> None:
    body = wire.pack_reports(published.digest, [Report(bytes(16), bytes(3))])
    asked: list[str] = []

    def size(digest: str) -> int:
        asked.append(digest)
        return 3

    _, _, records = batch.unpack_rows(body, size)
    assert records.shape == (1, 3)
    assert asked == [published.digest]


def test_pack_rows_refuses_other_shapes(published: Published) -> None:
    ids, records = np.zeros((2, 16), np.uint8), np.zeros((2, 3), np.uint8)
    for bad_ids, bad_records in (
        (ids[:1], records),
        (ids[:, :15], records),
        (ids, records.astype(np.int64)),
        (ids, records[0]),
    ):
        with pytest.raises(InvalidParameter):
            batch.pack_rows(published.digest, bad_ids, bad_records)
