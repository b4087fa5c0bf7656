"""Decoding: columns named and ordered by the manifest, supports as the protocols give them."""

import numpy as np
import pytest

from decoded import part_of
from hushpoll_analysis import debiased, decode
from hushpoll_protocols import PROTOCOLS, SecureBits
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many


def survey(protocol="OUE", epsilon="3"):
    """Every kind of attribute: sensitive, with a missing category, two-byte plain, target."""
    return Manifest.from_dict(
        {
            "name": "decoding",
            "version": 1,
            "title": "Decoding",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "area", "role": "plain", "range": [1, 300]},
                {
                    "name": "gender",
                    "role": "sensitive",
                    "categories": ["Female", "Male"],
                    "missing": "not said",
                },
                {"name": "age", "role": "sensitive", "range": [17, 30]},
                {"name": "pay", "role": "target", "categories": ["low", "high"]},
            ],
        }
    ).resolve()


def draw(published, n, seed=1):
    rng = np.random.default_rng(seed)
    codes = {one.name: rng.integers(0, one.k, n) for one in published.attributes}
    return codes, encode_many(published, codes, rng)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_indicators_are_the_supports_that_the_scalar_side_gives(protocol):
    published = survey(protocol)
    codes, _ = draw(published, 200)
    rows = [
        published.layout.encode({name: int(v[i]) for name, v in codes.items()}, SecureBits())
        for i in range(200)
    ]
    records = np.frombuffer(b"".join(rows), np.uint8).reshape(200, -1)
    decoded = decode(published, records)
    assert decoded.n == 200
    assert list(decoded.indicators) == ["area", "gender", "age", "pay"]
    for one in published.attributes:
        expected = np.zeros((200, one.k), np.uint8)
        for i, row in enumerate(rows):
            part = part_of(published.layout, row, one.name)
            support = [codes[one.name][i]] if one.oracle is None else one.oracle.support(part)
            expected[i, list(support)] = 1
        assert decoded.indicators[one.name].dtype == np.uint8
        assert (decoded.indicators[one.name] == expected).all()


def test_the_frame_names_each_category_in_manifest_order():
    published = survey()
    _, records = draw(published, 50)
    decoded = decode(published, records)
    frame = decoded.frame()
    names = [f"{one.name}={category}" for one in published.attributes for category in one.domain]
    assert list(frame.columns) == names
    assert names[300:304] == ["gender=Female", "gender=Male", "gender=not said", "age=17"]
    assert frame.shape == (50, 300 + 3 + 14 + 2)
    assert (frame["gender=Male"].to_numpy() == decoded.indicators["gender"][:, 1]).all()
    assert (frame["area=300"].to_numpy() == decoded.indicators["area"][:, 299]).all()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_debiased_has_the_truth_as_its_mean(protocol):
    published = survey(protocol)
    n = 40_000
    answer = np.full(n, 5)
    codes = {
        one.name: answer if one.name == "age" else np.zeros(n, int) for one in published.attributes
    }
    records = encode_many(published, codes, np.random.default_rng(6))
    found = debiased(decode(published, records), "age")
    truth = np.eye(14)[5]
    assert found.shape == (n, 14)
    assert (np.abs(found.mean(axis=0) - truth) < 5 * found.std(axis=0) / n**0.5).all()
    # one in clear is the one-hot answer itself
    assert debiased(decode(published, records), "pay").tolist() == [[1.0, 0.0]] * n


def test_no_rows_decode_to_no_rows():
    published = survey()
    decoded = decode(published, np.empty((0, published.layout.record_size), np.uint8))
    assert decoded.n == 0
    assert decoded.frame().shape == (0, 319)


def test_an_unknown_attribute_is_refused_with_the_known_ones():
    published = survey()
    decoded = decode(published, draw(published, 5)[1])
    with pytest.raises(InvalidParameter, match="area, gender, age, pay"):
        debiased(decoded, "genre")


@pytest.mark.parametrize("spoil", ["long", "flat", "type", "list"])
def test_records_of_another_shape_or_type_are_refused(spoil):
    published = survey()
    records = draw(published, 5)[1]
    wrong = {
        "long": np.zeros((5, records.shape[1] + 1), np.uint8),
        "flat": records.ravel(),
        "type": records.astype(np.int64),
        "list": records.tolist(),
    }[spoil]
    with pytest.raises(InvalidParameter, match=rf"\(n, {records.shape[1]}\)") as caught:
        decode(published, wrong)
    assert caught.value.field == "records"


@pytest.mark.parametrize(("field", "reason"), [("area", "range"), ("gender", "padding")])
def test_a_malformed_record_is_refused(field, reason):
    published = survey()
    records = draw(published, 5)[1]
    place = published.layout.field(field)
    records[3, place.offset : place.offset + place.size] = 255
    with pytest.raises(MalformedRecord, match=r"records\[3\]") as caught:
        decode(published, records)
    assert caught.value.reason == reason
