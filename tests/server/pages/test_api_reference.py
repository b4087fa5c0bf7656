"""The page ``/docs``: all of the OpenAPI document, readable without a script and from this host."""

from __future__ import annotations

import gzip
import html
import re

import pytest

from hushpoll_server.public_pages import api_reference
from hushpoll_server.public_pages.api_reference import kind, sections

pytestmark = pytest.mark.sqlite


def test_every_operation_and_every_form_is_on_the_page(site):
    document = site.get("/api/v1/openapi.json", headers={}).json
    answer = site.get("/docs", headers={})
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    page = answer.text
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert f'id="{operation["operationId"]}">{method.upper()} <code>{path}</code>' in page
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in page
    for name in document["components"]["schemas"]:
        assert f'<h3 id="form-{name}">' in page
    assert "hardly protects its respondents" in html.unescape(page)


def test_the_page_needs_no_script_and_its_links_lead_somewhere(site):
    answer = site.get("/docs", headers={})
    page = answer.text
    assert "<script" not in page
    assert "style=" not in page
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "script-src" not in policy
    assert "unsafe" not in policy
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', page):
        assert target in ids
    for address in re.findall(r'(?:href|src)="([^"#]+)"', page):
        assert address.startswith("/")
        assert site.get(address, headers={}).status_code == 200


def test_a_browser_that_has_the_page_is_not_sent_it_again(site):
    first = site.get("/docs", headers={"Accept-Encoding": "gzip"})
    assert first.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(first.data) == site.get("/docs", headers={}).data
    known = {"Accept-Encoding": "gzip", "If-None-Match": first.headers["ETag"]}
    again = site.get("/docs", headers=known)
    assert (again.status_code, again.data) == (304, b"")


def test_the_page_is_rendered_once(make_site, monkeypatch):
    site, rendered = make_site(own=True), []

    def counted(document):
        rendered.append(document)
        return sections(document)

    monkeypatch.setattr(api_reference, "sections", counted)
    for headers in ({}, {"Accept-Encoding": "gzip"}, {"If-None-Match": '"other"'}):
        assert site.get("/docs", headers=headers).status_code == 200
    assert len(rendered) == 1


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/components/schemas/Plan"}, "Plan"),
        ({"type": "integer", "minimum": 1, "default": 5}, "integer (at least 1, by default 5)"),
        ({"type": "integer", "minimum": 1.0}, "integer (at least 1)"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "list of a, b"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "mapping to number"),
        ({}, "any JSON"),
    ],
)
def test_a_type_is_said_in_words(schema, words):
    assert kind(schema) == words
