"""Records: what is refused once, what is decoded, and what a stream of them gives."""

from dataclasses import replace

import numpy as np
import pytest

from decoded import part_of
from hushpoll_analysis import Records, RecordStream, count
from hushpoll_protocols import PROTOCOLS, SecureBits
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_shared import Manifest
from hushpoll_shared.survey.questions.protected import Protected
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header


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
    decoded = Records(published, records)
    assert len(decoded) == 200
    for one in published.attributes:
        expected = np.zeros((200, one.k), np.uint8)
        for i, row in enumerate(rows):
            part = part_of(published.layout, row, one.name)
            support = [codes[one.name][i]] if one.oracle is None else one.oracle.support(part)
            expected[i, list(support)] = 1
        assert decoded.indicators(one.name).dtype == np.uint8
        assert (decoded.indicators(one.name) == expected).all()


def test_the_frame_names_each_category_in_manifest_order():
    published = survey()
    _, records = draw(published, 50)
    decoded = Records(published, records)
    frame = decoded.frame()
    names = [f"{one.name}={category}" for one in published.attributes for category in one.domain]
    assert list(frame.columns) == names
    assert names[300:304] == ["gender=Female", "gender=Male", "gender=not said", "age=17"]
    assert frame.shape == (50, 300 + 3 + 14 + 2)
    assert (frame["gender=Male"].to_numpy() == decoded.indicators("gender")[:, 1]).all()
    assert (frame["area=300"].to_numpy() == decoded.indicators("area")[:, 299]).all()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_debiased_has_the_truth_as_its_mean(protocol):
    published = survey(protocol)
    n = 40_000
    answer = np.full(n, 5)
    codes = {
        one.name: answer if one.name == "age" else np.zeros(n, int) for one in published.attributes
    }
    records = encode_many(published, codes, np.random.default_rng(6))
    found = Records(published, records).debiased("age")
    truth = np.eye(14)[5]
    assert found.shape == (n, 14)
    assert (np.abs(found.mean(axis=0) - truth) < 5 * found.std(axis=0) / n**0.5).all()
    # one in clear is the one-hot answer itself
    assert Records(published, records).debiased("pay").tolist() == [[1.0, 0.0]] * n


def test_no_rows_decode_to_no_rows():
    published = survey()
    decoded = Records(published, np.empty((0, published.layout.record_size), np.uint8))
    assert len(decoded) == 0
    assert decoded.frame().shape == (0, 319)


def test_an_unknown_attribute_is_refused_with_the_known_ones():
    published = survey()
    decoded = Records(published, draw(published, 5)[1])
    with pytest.raises(InvalidParameter, match="area, gender, age, pay"):
        decoded.debiased("genre")


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
        Records(published, wrong)
    assert caught.value.field == "records"


@pytest.mark.parametrize(("field", "reason"), [("area", "range"), ("gender", "padding")])
def test_a_malformed_record_is_refused_by_its_row_of_all(field, reason):
    published = survey()
    rows = draw(published, 5)[1]
    place = published.layout.field(field)
    rows[3, place.offset : place.offset + place.size] = 255
    with pytest.raises(MalformedRecord, match=rf"records\[3\].*{field}") as caught:
        Records(published, rows)
    assert (caught.value.reason, caught.value.field) == (reason, field)


def test_trusted_rows_are_not_checked_again_but_never_miscounted():
    published = survey()
    rows = draw(published, 5)[1]
    place = published.layout.field("gender")
    rows[3, place.offset : place.end] = 255
    trusted = Records.trusted(published, rows)
    assert trusted.codes("pay").tolist() == rows[:, -1].tolist()
    # the kernel that reads the damaged row refuses it
    with pytest.raises(MalformedRecord):
        count(trusted)
    with pytest.raises(InvalidParameter, match=r"\(n, "):
        Records.trusted(published, rows[:, 1:])
    area = published.layout.field("area")
    rows[4, area.offset : area.end] = 255
    with pytest.raises(MalformedRecord):
        Records.trusted(published, rows).codes("area")


def test_chosen_records_keep_their_order_and_their_survey():
    published = survey()
    rows = draw(published, 10)[1]
    records = Records(published, rows)
    mask = rows[:, -1] == 1
    for chosen in (slice(2, 7), np.array([4, 1, 4]), mask):
        part = records.take(chosen)
        assert part.published is published
        assert (part.rows == rows[chosen]).all()
    assert [len(block) for block in records.blocks(4)] == [4, 4, 2]
    assert [len(block) for block in records.blocks(0)] == [1] * 10


def test_rows_cannot_be_changed_through_checked_records():
    published = survey()
    records = Records(published, draw(published, 3)[1])
    with pytest.raises(ValueError, match="read-only"):
        records.rows[0, 0] = 1


def test_records_are_taken_under_other_groups_but_not_under_other_questions():
    published = survey()
    records = Records(published, draw(published, 3)[1])
    protected = Protected("gender", ("Male",), ("Female",))
    assert records.under(replace(published, protected=protected)).published.protected == protected
    with pytest.raises(InvalidParameter, match="attributes are not those of") as caught:
        records.under(survey("SS"))
    assert caught.value.field == "records"


def test_a_stream_is_read_once_in_blocks_and_can_be_joined():
    published = survey()
    rows = draw(published, 10)[1]
    stream = RecordStream.trusted(published, iter([rows[:7], rows[7:]]))
    assert [block.rows.tolist() for block in stream.blocks(5)] == [
        rows[:5].tolist(),
        rows[5:7].tolist(),
        rows[7:].tolist(),
    ]
    joined = RecordStream.trusted(published, [rows[:7], rows[7:]]).joined()
    assert (joined.rows == rows).all()
    assert len(RecordStream(published, []).joined()) == 0


def test_a_file_of_records_is_read_and_checked(tmp_path):
    published = survey()
    rows = draw(published, 4)[1]
    path = tmp_path / "all.records"
    path.write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
    records = Records.read(path)
    assert records.published == published
    assert (records.rows == rows).all()
    rows[2, :2] = 255
    path.write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
    with pytest.raises(MalformedRecord, match=r"all\.records: records\[2\]"):
        Records.read(path)
    path.write_bytes(b"a text")
    with pytest.raises(InvalidParameter, match=r"all\.records: this is no file of records"):
        Records.read(path)


def test_stream_refuses_a_part_of_another_survey():
    """Guards: records of another survey with parts of the same sizes were counted."""
    published, other = survey("OUE", "3"), survey("OUE", "2.5")
    parts = [Records(each, draw(each, 4)[1]) for each in (published, other)]
    with pytest.raises(InvalidParameter, match="attributes are not those of"):
        count(RecordStream(published, parts))
    with pytest.raises(InvalidParameter, match="attributes are not those of"):
        RecordStream(published, parts).joined()


def test_malformed_row_beyond_the_first_block_is_named_by_its_place_in_all(monkeypatch):
    monkeypatch.setattr("hushpoll_analysis.records.records.CHECKED_ROWS", 2)
    published = survey()
    rows = draw(published, 5)[1]
    area = published.layout.field("area")
    rows[4, area.offset : area.end] = 255
    with pytest.raises(MalformedRecord, match=r"records\[4\].*codes lie in \[0, 299\]"):
        Records(published, rows)
