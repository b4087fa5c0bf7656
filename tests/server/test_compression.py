"""Compressed bodies: taken, bounded, and refused where they are no whole stream."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib

import pytest
import zstandard

from hushpoll_server.compression import CODINGS, ZSTD_WINDOW, TooLarge, expand
from hushpoll_server.errors import Refused
from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, body_of, make_draft, make_report

pytestmark = pytest.mark.sqlite

MIB = 2**20
LIMIT = 10 * MIB


def zstd(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def zstd_stream(data, **options):
    """Without the size in its header, as a program that compresses a stream sends it."""
    stream = zstandard.ZstdCompressor(**options).compressobj()
    return stream.compress(data) + stream.flush()


COMPRESS = {
    "gzip": ("gzip", gzip.compress),
    "zstd": ("zstd", zstd),
    "zstd stream": ("zstd", zstd_stream),
}
EACH = pytest.mark.parametrize(("coding", "compress"), COMPRESS.values(), ids=COMPRESS)


def whole(coding, body, limit, cut=200_000):
    """Expand a body that arrives in pieces of `cut` bytes."""
    pieces = (body[start : start + cut] for start in range(0, len(body), cut))
    return b"".join(expand(coding, pieces, limit))


@EACH
@pytest.mark.parametrize("size", [0, 1, 1000, 3 * MIB])
def test_compressed_data_expands_to_the_original(coding, compress, size):
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert whole(coding, compress(data), LIMIT) == data


@EACH
@pytest.mark.parametrize("cut", [1, 17, 18, 19, 127, 128, 129])
def test_a_body_may_arrive_cut_anywhere(coding, compress, cut):
    data = random.Random(cut).randbytes(3000) + bytes(200_000)
    assert whole(coding, compress(data), LIMIT, cut) == data
    with pytest.raises(Refused):
        whole(coding, compress(data)[:-1], LIMIT, cut)
    with pytest.raises(Refused):
        whole(coding, compress(data) + b"x", LIMIT, cut)


@EACH
def test_no_piece_is_asked_for_before_it_is_needed(coding, compress):
    body = compress(random.Random(1).randbytes(MIB))
    asked = 0

    def pieces():
        nonlocal asked
        for start in range(0, len(body), 1000):
            asked += 1
            yield body[start : start + 1000]

    expanded = expand(coding, pieces(), LIMIT)
    size = 0
    while size < MIB // 2:
        size += len(next(expanded))
    # A block, at most 128 KiB, is expanded only when it is there.
    assert 1000 * asked < MIB // 2 + 200_000


@EACH
def test_the_limit_is_exact(coding, compress):
    body = compress(bytes(MIB))
    assert len(whole(coding, body, MIB)) == MIB
    with pytest.raises(TooLarge):
        whole(coding, body, MIB - 1)


@EACH
def test_a_bomb_is_not_expanded_beyond_its_limit(coding, compress):
    """64 MiB in 70 kB or less: no more is held meanwhile than the limit and a little."""
    body = compress(bytes(64 * MIB))
    assert len(body) < 70_000
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            whole(coding, body, LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * LIMIT  # zlib joins its blocks at the end


def test_a_frame_that_lies_about_its_size_is_damaged():
    body = bytearray(zstd(bytes(4 * MIB)))
    size = zstandard.get_frame_parameters(bytes(body)).content_size
    at = body.index(size.to_bytes(4, "little"))
    body[at : at + 4] = (1000).to_bytes(4, "little")
    with pytest.raises(Refused, match="zstd"):
        whole("zstd", bytes(body), LIMIT)


def test_a_frame_that_asks_for_much_memory_is_refused():
    body = zstd_stream(bytes(1000), compression_params=zstandard.ZstdCompressionParameters(
        window_log=26, enable_ldm=True))  # fmt: skip
    assert zstandard.get_frame_parameters(body).window_size > ZSTD_WINDOW
    with pytest.raises(Refused, match="zstd"):
        whole("zstd", body, LIMIT)


@EACH
@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[:-1],
        lambda body: body[: len(body) // 2],
        lambda body: body[:3],
        lambda body: b"",
        lambda body: body + b"x",
        lambda body: b"x" + body,
        lambda body: b"not compressed at all",
    ],
)
def test_truncated_or_damaged_stream_is_refused(coding, compress, damage):
    with pytest.raises(Refused, match=coding) as refused:
        whole(coding, damage(compress(b"reports" * 100)), LIMIT)
    assert (refused.value.code, refused.value.field) == ("invalid-request", "body")


def test_gzip_of_several_members_is_one_body():
    """RFC 1952, section 2.2."""
    body = b"".join(gzip.compress(part) for part in (b"one ", b"two ", b"three"))
    assert whole("gzip", body, 13) == b"one two three"
    with pytest.raises(TooLarge):
        whole("gzip", body, 12)


def test_a_crowd_of_empty_members_is_refused_at_once(monkeypatch):
    """Guards: the rest of the body was copied for each of half a million members."""
    begun = []
    make = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", lambda bits: begun.append(1) or make(bits))
    with pytest.raises(Refused):
        whole("gzip", gzip.compress(b"") * 500_000, LIMIT)
    assert len(begun) == 64
    assert whole("gzip", gzip.compress(b"x") * 64, LIMIT) == b"x" * 64


def test_zlib_and_raw_deflate_are_not_gzip():
    for body in (zlib.compress(b"x" * 100), zlib.compress(b"x" * 100, wbits=-15)):
        with pytest.raises(Refused):
            whole("gzip", body, LIMIT)


def send(site, body, coding, media_type=wire.REPORTS_MEDIA_TYPE, headers=None):
    return site.client().post(
        REPORTS,
        data=body,
        content_type=media_type,
        headers={**(site.admin if headers is None else headers), "Content-Encoding": coding},
    )


@EACH
def test_a_compressed_batch_is_taken(site, coding, compress):
    published = site.publish()
    reports = [make_report(published) for _ in range(50)]
    body = compress(wire.pack_reports(published.digest, reports))
    answer = send(site, body, coding.upper())
    assert answer.json == {"accepted": 50, "duplicate": 0, "rejected": []}
    assert send(site, body, coding).json["duplicate"] == 50
    assert site.counts(published)["accepted"] == 50


@EACH
def test_a_compressed_report_is_taken(site, coding, compress):
    published = site.publish()
    document = body_of(published)
    body = compress(site.app.json.dumps(document).encode())
    for expected in (201, 200):
        answer = send(site, body, coding, "application/json", {})
        assert answer.status_code == expected


@EACH
@pytest.mark.parametrize("media_type", [wire.REPORTS_MEDIA_TYPE, "application/json"])
def test_a_bomb_is_too_large_and_stores_nothing(make_site, coding, compress, media_type):
    site = make_site(MAX_BODY_BYTES=100_000, MAX_JSON_BYTES=10_000)
    published = site.publish()
    header = wire.reports_header(published.digest)
    answer = send(site, compress(header + bytes(64 * MIB)), coding, media_type)
    assert site.problem(answer) == (413, "payload-too-large", "body")
    limit = 100_000 if media_type == wire.REPORTS_MEDIA_TYPE else 10_000
    assert f"larger than {limit} bytes" in answer.json["detail"]
    assert site.counts(published)["accepted"] == 0


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip", "gzip;q=1", "x-gzip", "\x00"])
def test_another_coding_is_refused_by_its_header(site, coding):
    site.publish()
    answer = site.client().post(
        REPORTS, data=b"x", content_type=wire.REPORTS_MEDIA_TYPE,
        headers=site.admin, environ_overrides={"HTTP_CONTENT_ENCODING": coding},
    )  # fmt: skip
    assert site.problem(answer) == (415, "unsupported-media-type", "Content-Encoding")
    assert answer.headers["Accept-Encoding"] == ", ".join(CODINGS)


def test_identity_is_no_coding(site):
    published = site.publish()
    body = wire.pack_reports(published.digest, [make_report(published)])
    assert send(site, body, "identity").json["accepted"] == 1


def test_a_manifest_may_be_compressed(site):
    body = gzip.compress(site.app.json.dumps(make_draft()).encode())
    answer = site.client().post(
        "/api/v1/surveys",
        data=body,
        content_type="application/json",
        headers={**site.admin, "Content-Encoding": "gzip"},
    )
    assert answer.status_code == 201
