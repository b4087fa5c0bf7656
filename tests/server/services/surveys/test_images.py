"""Images of surveys: told by content, bounded, served as what they are, named by their hash."""

from __future__ import annotations

import hashlib

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_server.services.surveys.images import MOST_IMAGES, read_picture
from hushpoll_shared.survey.questions.presentation import IMAGE_BYTES
from pictures import gif, jpeg, png, webp
from sample_survey import make_draft

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(600, 200), "image/png"),
        (jpeg(600, 200), "image/jpeg"),
        (webp(600, 200), "image/webp"),
        (gif(600, 200), "image/gif"),
    ],
)
def test_a_picture_is_told_by_its_content(data: bytes, media_type: str) -> None:
    picture = read_picture(data)
    assert (picture.media_type, picture.width, picture.height) == (media_type, 600, 200)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"%PDF-1.7 ...", "is a PDF document; a logo is PNG, JPEG, WebP or GIF"),
        (SVG, "is an SVG drawing, which can run scripts and load from other servers,"),
        (b"<svg onload='x'/>", "is an SVG drawing"),
        (b"<!doctype html><p>", "is a page or an XML file"),
        (b"PK\x03\x04...", "is a ZIP file or a document of an office program"),
        (b"\x00\x00\x00\x1cftypavif....", "is an AVIF or HEIC picture"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", "of a kind that is not known"),
        (b"#!/bin/sh", "of a kind that is not known"),
        (png() + b"<script>", "8 bytes stand behind its end"),
        (png()[:-1], "it is cut"),
        (png()[:30], "not one to its end"),
        (b"\x89PNG\r\n\x1a\n", "not one to its end"),
        (jpeg()[:-1], "no end"),
        (b"\xff\xd8\xff", "not one to its end"),
        (b"\xff\xd8\xff\xe0\x00\x00" * 9, "without a length"),
        (webp() + b"%PDF-", "5 bytes stand behind its end"),
        (webp()[:-2], "it is cut"),
        (gif()[:-1], "no end"),
        (png(0, 5), "0 times 5 pixels"),
        (png(2001, 1), "2001 times 1 pixels; a logo has 1 to 2000 each way: make it smaller"),
        (png() + bytes(IMAGE_BYTES), "a logo has at most 262,144 (256 KiB): make it smaller"),
    ],
)
def test_what_is_no_picture_is_refused_with_its_kind_and_the_remedy(
    data: bytes, words: str
) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        read_picture(data, name="logo.png")
    assert str(refusal.value).startswith("logo.png ")
    assert words in str(refusal.value)
    assert refusal.value.field == "image"


def _add(site, data: bytes, **more):
    return site.client().post(
        "/api/v1/images?file=logo.png",
        data=data,
        content_type="application/octet-stream",
        headers=site.admin,
        **more,
    )


@pytest.mark.sqlite
def test_an_image_is_served_as_what_it_is_and_never_as_anything_else(site) -> None:
    digest = hashlib.sha256(png()).hexdigest()
    answer = _add(site, png())
    assert answer.status_code == 201
    assert answer.json == {
        "image": digest,
        "media_type": "image/png",
        "width": 3,
        "height": 2,
        "bytes": len(png()),
    }
    assert _add(site, png()).json["image"] == digest
    image = site.client().get(f"/image/{digest}")
    assert (image.status_code, image.data, image.mimetype) == (200, png(), "image/png")
    assert image.headers["X-Content-Type-Options"] == "nosniff"
    assert image.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "immutable" in image.headers["Cache-Control"]
    for other in ("0" * 64, "x", f"{digest}0", digest.upper()):
        assert site.client().get(f"/image/{other}").status_code == 404


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("data", "status"), [(b"%PDF-1.7", 422), (SVG, 422), (bytes(IMAGE_BYTES + 1), 413)]
)
def test_a_renamed_or_large_file_is_a_problem_and_is_not_kept(site, data, status) -> None:
    answer = _add(site, data)
    assert answer.status_code == status
    assert "field" in answer.json or status == 413
    digest = hashlib.sha256(data).hexdigest()
    assert site.client().get(f"/image/{digest}").status_code == 404


@pytest.mark.sqlite
def test_a_survey_shows_an_image_of_its_own_server_alone(site) -> None:
    digest = hashlib.sha256(png()).hexdigest()
    draft = make_draft(name="with-logo", logo={"image": digest, "alt": 'Coat of "arms"'})
    refused = site.client().post("/api/v1/surveys", json=draft, headers=site.admin)
    assert (refused.status_code, refused.json["field"]) == (422, "logo.image")
    assert "upload the image" in refused.json["detail"]
    checked = site.client().post(
        "/api/v1/drafts/validate", json={"manifest": draft}, headers=site.admin
    )
    assert [problem["field"] for problem in checked.json["problems"]] == ["logo.image"]
    _add(site, png())
    published = site.client().post("/api/v1/surveys", json=draft, headers=site.admin)
    assert published.status_code == 201, published.text
    page = site.client().get("/s/with-logo")
    assert f'<img class="logo" src="/image/{digest}" alt="Coat of &#34;arms&#34;"' in page.text
    assert "img-src 'self'" in page.headers["Content-Security-Policy"]


@pytest.mark.sqlite
def test_images_are_so_many_at_most(site, monkeypatch) -> None:
    monkeypatch.setattr("hushpoll_server.services.surveys.images.MOST_IMAGES", 2)
    for width in (1, 2):
        assert _add(site, png(width)).status_code == 201
    refused = _add(site, png(3))
    assert refused.status_code == 422
    assert "of at most 2; use one of them" in refused.json["detail"]
    assert _add(site, png(2)).status_code == 201
    assert MOST_IMAGES == 500
