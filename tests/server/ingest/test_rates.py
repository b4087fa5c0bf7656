"""Rate limits per address and per bearer token, in one process."""

from __future__ import annotations

import gc
import logging
import time
import weakref

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_server.ingest.rates import MemoryCounters, Rates, RedisCounters
from hushpoll_server.ingest.requests import Request
from redis_server import redis_server
from sample_survey import REPORTS, bearer, body_of

ABROAD = "203.0.113.7"
LIST = "/api/v1/surveys"


pytestmark = pytest.mark.sqlite


def ask(site, path=LIST, *, address=ABROAD, method="GET", **options):
    return site.client().open(
        path, method=method, environ_overrides={"REMOTE_ADDR": address}, **options
    )


def statuses(site, count, *args, **options):
    return [ask(site, *args, **options).status_code for _ in range(count)]


def test_requests_of_one_address_are_limited_per_minute(make_site):
    site = make_site(RATE_LIMIT_READ=3)
    assert statuses(site, 4) == [200, 200, 200, 429]
    refused = ask(site)
    assert site.problem(refused) == (429, "rate-limited", None)
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused.json["retryable"] is True
    assert "this address has made 3 requests" in refused.json["detail"]
    assert ABROAD not in refused.text
    assert statuses(site, 1, address="203.0.113.8") == [200]


def test_uploads_and_other_requests_are_counted_apart(make_site):
    site = make_site(RATE_LIMIT_READ=2, RATE_LIMIT_SUBMIT=3)
    published = site.publish()
    body = body_of(published)
    assert statuses(site, 3) == [200, 200, 429]
    assert statuses(site, 4, REPORTS, method="POST", json=body) == [201, 200, 200, 429]
    assert site.counts(published)["accepted"] == 1


def test_requests_of_one_token_are_limited_over_all_addresses(make_site):
    site = make_site(RATE_LIMIT_READ=5)
    token = site.services.access.issue(["read"]).token
    headers = bearer(token)
    found = [
        ask(site, address=f"203.0.113.{number}", headers=headers).status_code for number in range(7)
    ]
    assert found == [200] * 5 + [429] * 2
    detail = ask(site, address="203.0.113.99", headers=headers).json["detail"]
    assert "this token has made 5" in detail
    # a person who knows the token's public id alone does not use up its requests
    other = site.services.access.issue(["read"])
    forged = {"Authorization": f"Bearer hp_{other.id}_{'A' * 43}"}
    for number in range(20):
        found = ask(site, address=f"198.51.100.{number}", headers=forged).status_code
        assert found == (401 if number < 5 else 429)
    real = bearer(other.token)
    assert ask(site, address="192.0.2.1", headers=real).status_code == 200


def test_this_machine_itself_is_not_limited(make_site):
    site = make_site(RATE_LIMIT_READ=2)
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert statuses(site, 5, address=address) == [200] * 5


def test_one_ipv6_network_is_one_address(make_site):
    site = make_site(RATE_LIMIT_READ=2)
    found = [ask(site, address=f"2001:db8:1:2::{number}").status_code for number in range(1, 4)]
    assert found == [200, 200, 429]
    assert statuses(site, 1, address="2001:db8:1:3::1") == [200]


def test_an_ipv4_address_is_the_same_in_ipv6_form(make_site):
    site = make_site(RATE_LIMIT_READ=2)
    assert statuses(site, 2) == [200, 200]
    assert statuses(site, 1, address=f"::ffff:{ABROAD}") == [429]


@pytest.mark.parametrize(
    ("proxies", "forwarded", "counted"),
    [
        (0, ["192.0.2.1", "192.0.2.2", "192.0.2.3"], False),  # the header is the sender's own
        (1, ["192.0.2.1", "192.0.2.2", "192.0.2.3"], True),
        # what the sender wrote himself stands before what the trusted proxy appended
        (1, ["1.1.1.1, 192.0.2.1", "2.2.2.2, 192.0.2.1", "3.3.3.3, 192.0.2.1"], False),
        (2, ["1.1.1.1, 192.0.2.1", "2.2.2.2, 192.0.2.1", "3.3.3.3, 192.0.2.1"], True),
        (2, ["192.0.2.1", "192.0.2.2", "192.0.2.3"], False),  # past the second proxy, not the first
        (1, ["192.0.2.1:5001", "192.0.2.1:5002", "192.0.2.1:5003"], False),  # some add the port
        (1, ["[2001:db8::1]:5", "[2001:db8::2]:5", "[2001:db8::3]:5"], False),
    ],
)
def test_the_address_behind_proxies_is_looked_up_as_far_as_they_are_trusted(
    make_site, proxies, forwarded, counted
):
    """``counted``: whether the three are counted as three addresses."""
    site = make_site(RATE_LIMIT_READ=2, TRUSTED_PROXIES=proxies)
    found = [ask(site, headers={"X-Forwarded-For": one}).status_code for one in forwarded]
    assert found == [200, 200, 200 if counted else 429]


def test_zero_is_no_limit(make_site):
    site = make_site(RATE_LIMIT_READ=0, RATE_LIMIT_SUBMIT=1)
    assert statuses(site, 30) == [200] * 30
    published = site.publish()
    body = body_of(published)
    assert statuses(site, 2, REPORTS, method="POST", json=body) == [201, 429]
    assert statuses(make_site(RATE_LIMIT_READ=0, RATE_LIMIT_SUBMIT=0), 5) == [200] * 5


def test_health_is_never_limited(make_site):
    site = make_site(RATE_LIMIT_READ=1)
    assert statuses(site, 2) == [200, 429]
    assert statuses(site, 5, "/health") == [200] * 5


def test_the_defaults_let_a_school_and_a_fleet_through(site):
    """1,000 pupils behind one address, who fetch 5 things each and send a report, in one minute."""
    settings = Settings()
    assert settings.rate_limit_read >= 5 * 1000
    assert settings.rate_limit_submit >= 1000
    # a fleet with one token, at 60,000 reports a second in batches of 10,000
    assert settings.rate_limit_submit >= 60 * 60_000 / settings.max_bulk_reports


def test_no_address_is_kept_or_logged(make_site, debug_log):
    """Guards: the library logs the key of what it refuses."""
    site = make_site(RATE_LIMIT_READ=2)
    statuses(site, 4)
    assert statuses(site, 1) == [429]
    assert ABROAD not in debug_log.text
    assert "exceeded" not in debug_log.text


def request_of(address):
    scope = {"method": "GET", "path": "/", "headers": [], "http_version": "1.1"}
    return Request({**scope, "client": (address, 5)}, None, 1)


def test_two_servers_do_not_give_an_address_the_same_key():
    """The salt is drawn anew for each, so a key tells nothing outside of its own process."""
    first, second = (Rates(Settings()) for _ in range(2))
    request = request_of(ABROAD)
    assert first.address_key(request) == first.address_key(request)
    assert first.address_key(request) != second.address_key(request)
    assert ABROAD not in first.address_key(request)


def test_a_window_ends_and_is_forgotten(loop):
    class Key(str):
        """A text of which one can say whether anything holds it still."""

    now = [59.0]
    counters = MemoryCounters(lambda: now[0])
    key = Key("a")
    held = weakref.ref(key)
    assert [loop.run(counters.hit(key, 1)) for _ in range(2)] == [None, 1.0]
    now[0] = 60.0
    assert loop.run(counters.hit("a", 1)) is None
    del key
    gc.collect()
    assert held() is None


def test_requests_to_unknown_addresses_count_against_the_limit(make_site):
    site = make_site(RATE_LIMIT_READ=2)
    found = [ask(site, path).status_code for path in ("/nothing", "/a//b", "/api/v1/tokens/x")]
    assert found == [404, 404, 429]
    site = make_site(RATE_LIMIT_READ=2)
    assert statuses(site, 3, "/api/v1/surveys/work", method="PUT") == [405, 405, 429]
    site = make_site(RATE_LIMIT_READ=2)
    assert statuses(site, 3, "/page/x/y.js") == [404, 404, 429]


def test_a_proxy_that_was_not_declared_is_warned_of_once(make_site, debug_log):
    site = make_site()
    for _ in range(3):
        ask(site, address="127.0.0.1", headers={"X-Forwarded-For": "192.0.2.77"})
    warnings = [one for one in debug_log.records if "undeclared-proxy" in one.getMessage()]
    assert len(warnings) == 1
    assert warnings[0].levelno == logging.WARNING
    assert "192.0.2.77" not in debug_log.text


@pytest.mark.parametrize("url", ["memory://", "redis", "http://secret@host", "redis://host:port"])
def test_an_address_of_no_redis_is_refused_without_showing_it(url):
    with pytest.raises(InvalidParameter, match="redis://host:6379") as refused:
        Rates(Settings(rate_limit_url=url))
    assert refused.value.field == "RATE_LIMIT_URL"
    assert "secret" not in str(refused.value)


def test_without_its_redis_the_server_counts_by_itself(make_site):
    def minute():
        return int(time.time()) // 60

    found, begun = None, None
    while begun != minute():  # a new one begins to count anew
        begun = minute()
        site = make_site(RATE_LIMIT_URL="redis://127.0.0.1:1/0", RATE_LIMIT_READ=2)
        found = statuses(site, 3)
    assert found == [200, 200, 429]


def test_several_processes_count_in_one_redis(tmp_path, loop, monkeypatch):
    """Two processes are two objects here; each asks the same Redis."""
    # A busy machine's Redis may take longer than a request may wait for it.
    monkeypatch.setattr("hushpoll_server.ingest.rates.REDIS_SECONDS", 60.0)
    with redis_server(tmp_path) as (url, _):
        first, second = (RedisCounters(f"{url}/0") for _ in range(2))
        found = [loop.run(one.hit("a", 3)) for one in (first, second) * 3]
        assert found[:3] == [None] * 3
        assert all(0 < left <= 60 for left in found[3:])
        for one in (first, second):
            loop.run(one.close())
