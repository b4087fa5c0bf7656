"""A logo that is uploaded on a draft's page, refused with the reason, and shown on the survey."""

from __future__ import annotations

import hashlib
import io

import pytest

from hushpoll_shared.survey.questions.presentation import IMAGE_BYTES
from pictures import png

pytestmark = pytest.mark.sqlite
MANIFEST = """\
name: small
version: 1
title: Small
epsilon: "1"
protocol: GRR
attributes:
  - {name: smokes, role: sensitive, categories: ["no", "yes"]}
"""


@pytest.fixture
def draft(visit):
    """A visitor who may edit, and the path of a sample survey's draft."""
    visitor = visit("eve", every="editor")
    answer = visitor.send("/drafts/new", on="/drafts/new", **{"from": "yaml", "yaml": MANIFEST})
    return visitor, answer.headers["Location"].removeprefix("/dashboard")


def _logo(visitor, path, data=None, name="logo.png", **fields):
    file = {} if data is None else {"image": (io.BytesIO(data), name)}
    return visitor.send(
        f"{path}/logo", on=f"{path}?beside=now", **_revision(visitor, path), **file, **fields
    )


def _revision(visitor, path):
    page = visitor.get(f"{path}?beside=now").text
    return {"revision": page.split('name="revision" value="')[1].split('"')[0]}


def test_a_logo_is_uploaded_shown_in_the_preview_and_taken_out(draft, site):
    visitor, path = draft
    digest = hashlib.sha256(png()).hexdigest()
    assert _logo(visitor, path, png(), alt="Coat of arms").status_code == 303
    page = visitor.get(f"{path}?beside=now").text
    assert f"/image/{digest}" in page
    assert "Replace the logo" in page
    assert 'name="alt" value="Coat of arms"' in page
    assert site.client().get(f"/image/{digest}").mimetype == "image/png"
    assert _logo(visitor, path, do="remove").status_code == 303
    assert digest not in visitor.get(f"{path}?beside=now").text


@pytest.mark.parametrize(
    ("data", "alt", "words"),
    [
        (None, "x", "there is no file; choose an image"),
        (png(), " ", "write what it shows"),
        (png(), "x" * 201, "200"),
        (b"%PDF-1.7 renamed", "x", "logo.png is a PDF document; a logo is PNG, JPEG, WebP or GIF"),
        (b"<svg><script/></svg>", "x", "an SVG drawing, which can run scripts"),
        (png() + bytes(IMAGE_BYTES), "x", "a logo has at most 262,144 (256 KiB)"),
    ],
)
def test_what_cannot_be_a_logo_is_refused_beside_its_field(draft, data, alt, words):
    visitor, path = draft
    answer = _logo(visitor, path, data, alt=alt)
    assert answer.status_code == 422
    told = answer.text.split('id="logo-fault"')[1].split("</div>")[0]
    assert words in told
    assert 'class="logo"' not in visitor.get(f"{path}?beside=now").text
