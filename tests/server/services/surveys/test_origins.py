"""Which web pages may answer a survey (CORS)."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.device_routes import REDEMPTIONS, ROUTES, SURVEY, WITHDRAWALS
from hushpoll_server.device_routes import REPORTS as REPORTS_ROUTE
from hushpoll_server.device_routes import VERSION as VERSION_ROUTE
from hushpoll_server.services.surveys.origins import CACHE_SECONDS, Origins, check_origin
from hushpoll_server.store.catalogue import OriginStore
from sample_survey import REPORTS, VERSION, body_of

SHOP = "https://shop.example.org"


def name_origins(site, *origins, name="work"):
    return site.client().put(
        f"/api/v1/surveys/{name}/origins", json={"origins": origins}, headers=site.admin
    )


def from_page(site, path, *, origin=SHOP, method="GET", **options):
    headers = {"Origin": origin, **options.pop("headers", {})}
    return site.client().open(path, method=method, headers=headers, **options)


def preflight(site, path, method, origin=SHOP):
    headers = {
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type",
    }
    return from_page(site, path, method="OPTIONS", origin=origin, headers=headers)


def crossing(answer):
    return {
        name.removeprefix("Access-Control-"): value
        for name, value in answer.headers
        if name.startswith("Access-Control-")
    }


def test_no_page_may_by_default(site):
    published = site.publish()
    for answer in (
        from_page(site, "/api/v1/surveys/work"),
        preflight(site, REPORTS, "POST"),
        from_page(site, REPORTS, method="POST", json={}),
    ):
        assert crossing(answer) == {}
        assert "Origin" in answer.vary
    assert site.get("/api/v1/surveys/work/origins").json == {"survey": "work", "origins": []}
    assert site.counts(published)["accepted"] == 0


def test_a_page_of_a_named_origin_fetches_and_sends(site):
    published = site.publish()
    answer = name_origins(site, SHOP, "http://localhost:8080", SHOP)
    assert answer.json == {"survey": "work", "origins": ["http://localhost:8080", SHOP]}
    for path in ("/api/v1/surveys/work", VERSION):
        allowed = preflight(site, path, "GET")
        assert allowed.status_code == 200
        assert crossing(allowed) == {
            "Allow-Origin": SHOP,
            "Allow-Methods": "GET, HEAD",
            "Allow-Headers": "Authorization, Content-Encoding, Content-Type, If-None-Match",
            "Max-Age": "600",
        }
        fetched = from_page(site, path)
        assert fetched.data == published.canonical
        assert crossing(fetched) == {
            "Allow-Origin": SHOP,
            "Expose-Headers": "ETag, Retry-After, X-Request-Id",
        }
        assert "Origin" in fetched.vary
    assert crossing(preflight(site, REPORTS, "POST"))["Allow-Methods"] == "POST"
    body = body_of(published)
    sent = from_page(site, REPORTS, method="POST", json=body)
    assert (sent.status_code, crossing(sent)["Allow-Origin"]) == (201, SHOP)
    # a page must be able to read why it was refused
    refused = from_page(site, REPORTS, method="POST", json={})
    assert (refused.status_code, crossing(refused)["Allow-Origin"]) == (422, SHOP)
    again = from_page(
        site, "/api/v1/surveys/work", headers={"If-None-Match": f'"{published.digest}"'}
    )
    assert (again.status_code, crossing(again)["Allow-Origin"]) == (304, SHOP)


@pytest.mark.parametrize(
    "origin",
    [
        "https://other.example.org",
        "http://shop.example.org",
        "https://shop.example.org:8443",
        "https://shop.example.org.evil.example",
        "https://evil-shop.example.org",
        "HTTPS://SHOP.EXAMPLE.ORG",
        "null",
        "*",
        "",
    ],
)
@pytest.mark.sqlite
def test_other_origins_are_not_the_one_named(site, origin):
    site.publish()
    name_origins(site, SHOP)
    assert crossing(from_page(site, "/api/v1/surveys/work", origin=origin)) == {}
    assert crossing(preflight(site, REPORTS, "POST", origin)) == {}


def test_origins_are_a_surveys_own_and_hold_for_all_its_versions(site):
    first = site.publish()
    name_origins(site, SHOP)
    second = site.publish(version=2)
    site.publish(name="other")
    path = "/api/v1/surveys/{}"
    assert crossing(from_page(site, path.format("work/versions/2")))["Allow-Origin"] == SHOP
    assert crossing(from_page(site, path.format("other"))) == {}
    assert crossing(from_page(site, path.format("nothing"))) == {}
    # the manifest, and with it the digest, knows nothing of them
    assert site.get(VERSION).data == first.canonical
    assert site.get("/api/v1/surveys/work/versions/2").data == second.canonical


@pytest.mark.sqlite
def test_only_the_routes_of_respondents_take_part(site):
    """A page cannot read what an analyst reads, though it had the token."""
    published = site.publish()
    site.fill(published, 5)
    name_origins(site, SHOP)
    rules = {rule.rule for rule in site.app.url_map.iter_rules()}
    rules |= {route.template for route in ROUTES}
    open_to_pages = set()
    for rule in rules:
        path = rule.replace("<name>", "work").replace("<int:version>", "1")
        if "<" not in path and crossing(preflight(site, path, "GET")):
            open_to_pages.add(rule)
    respondents = (SURVEY, VERSION_ROUTE, REPORTS_ROUTE, WITHDRAWALS, REDEMPTIONS)
    assert open_to_pages == {route.template for route in respondents}


@pytest.mark.sqlite
def test_a_page_cannot_send_a_report_without_asking_first(site):
    """What a page may send unasked (a form's media types) is not taken."""
    published = site.publish()
    body = body_of(published)
    text = site.app.json.dumps(body)
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = from_page(site, REPORTS, method="POST", data=text, content_type=media_type)
        assert answer.status_code == 415
    assert site.counts(published)["accepted"] == 0


def test_naming_none_takes_all_away(site):
    site.publish()
    name_origins(site, SHOP)
    assert crossing(from_page(site, "/api/v1/surveys/work"))
    assert name_origins(site).json["origins"] == []
    assert crossing(from_page(site, "/api/v1/surveys/work")) == {}


@pytest.mark.parametrize(
    "origin",
    [
        "*", "null", "", "shop.example.org", "http://shop.example.org",
        "https://shop.example.org/", "https://shop.example.org/x", "https://shop.example.org?x",
        "https://shop.example.org#x", "https://user@shop.example.org", "https://Shop.example.org",
        "https://shop.example.org:443", "http://localhost:80", "https://shop.example.org:99999",
        "https://shop.example.org:", "https://", "https://shop.exämple.org", "ftp://shop.example",
        "https://shop.example.org\r\nX: y", "https://a b", "https://[::1", "file://",
        f"https://{'a' * 250}.example", "javascript:alert(1)", "https://shop.example.org\x00",
    ],
)  # fmt: skip
@pytest.mark.sqlite
def test_invalid_origin_is_refused(site, origin):
    site.publish()
    name_origins(site, SHOP)
    answer = name_origins(site, "https://a.example", origin)
    assert site.problem(answer) == (422, "invalid-request", "origins")
    assert site.get("/api/v1/surveys/work/origins").json["origins"] == [SHOP]


@pytest.mark.parametrize(
    "origin",
    [
        SHOP, "https://a.example:8443", "https://xn--exmple-cua.org", "https://192.0.2.1",
        "https://[2001:db8::1]", "https://[2001:db8::1]:8443", "http://localhost",
        "http://localhost:3000", "http://127.0.0.1:5000", "http://[::1]:8000",
    ],
)  # fmt: skip
def test_valid_origin_is_kept_unchanged(origin):
    assert check_origin(origin) == origin


def test_there_are_at_most_fifty(site):
    site.publish()
    many = [f"https://{number}.example" for number in range(51)]
    assert name_origins(site, *many[:50]).status_code == 200
    assert site.problem(name_origins(site, *many)) == (422, "invalid-request", "origins")
    with pytest.raises(InvalidParameter, match="51 entries"):
        site.services.origins.replace(site.row(), many)


def test_a_survey_that_is_not_there_has_none(site):
    assert site.problem(name_origins(site, SHOP)) == (404, "unknown-survey", "name")
    assert site.problem(site.get("/api/v1/surveys/work/origins"))[0] == 404


def test_an_answer_does_not_wait_for_its_origin(site, monkeypatch):
    """A database that fails costs the page its answer, not the respondent the report."""
    published = site.publish()

    def fail(_store, _name):
        raise OSError("gone")

    monkeypatch.setattr(OriginStore, "named", fail)
    answer = from_page(site, "/api/v1/surveys/work")
    assert (answer.status_code, crossing(answer)) == (200, {})
    assert answer.data == published.canonical


def test_an_origin_is_looked_up_once_a_second_at_most():
    asked = []

    class Store:
        def named(self, name):
            asked.append(name)
            return [SHOP]

    now = [0.0]
    origins = Origins(Store(), monotonic=lambda: now[0])
    for _ in range(5):
        assert origins.allows("work", SHOP)
    assert asked == ["work"]
    now[0] += CACHE_SECONDS
    assert origins.allows("work", SHOP)
    assert asked == ["work", "work"]
    assert not origins.allows("../work", SHOP)  # no survey can have this name
    assert len(asked) == 2
    names = [f"name-{number}" for number in range(3000)]
    for name in names:
        origins.allows(name, SHOP)
    assert 0 < sum(origins.remembered(name, SHOP) is not None for name in names) <= 1000
