"""Each encoding of a page has a name of its own, and caches learn by what it was chosen."""

from __future__ import annotations

import gzip

import pytest

pytestmark = pytest.mark.sqlite


@pytest.mark.parametrize("path", ["/s/work", "/docs", "/results/work/versions/1"])
def test_each_encoding_has_a_name_and_what_was_not_changed_says_what_it_varies_by(site, path):
    """Guards: both encodings had one strong ETag, and 304 came without Vary (RFC 9110)."""
    published = site.publish()
    if path.startswith("/results/"):
        site.fill(published, 9)
        site.close()
        site.clock.advance(1)
        site.services.sealing.sweep(site.services.surveys.now())
        assert (
            site.post("/api/v1/surveys/work/versions/1/public-results", json={}).status_code == 201
        )

    def get(coding, **headers):
        return site.get(path, headers={"Accept-Encoding": coding, **headers})

    plain, packed = get("identity"), get("gzip")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert plain.headers["ETag"] != packed.headers["ETag"]
    for coding, first in (("identity", plain), ("gzip", packed)):
        tag = first.headers["ETag"]
        # A proxy that compresses weakens the names that it passes.
        for sent in (tag, f"W/{tag}", f'"other", {tag}'):
            again = get(coding, **{"If-None-Match": sent})
            assert (again.status_code, again.data) == (304, b""), sent
            for name in ("ETag", "Vary", "Cache-Control", "Content-Security-Policy"):
                assert again.headers[name] == first.headers[name]
        assert "Accept-Encoding" in first.headers["Vary"]
    # The other encoding has other bytes.
    other = get("gzip", **{"If-None-Match": plain.headers["ETag"]})
    assert (other.status_code, other.data) == (200, packed.data)
