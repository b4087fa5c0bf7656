from __future__ import annotations

import dataclasses

import pytest

from hushpoll_client.config import ClientConfig, Endpoint, HostedLink, is_loopback
from hushpoll_protocols.errors import InvalidParameter


def test_defaults_wait_1_to_30_seconds():
    config = ClientConfig()
    assert (config.first_delay, config.longest_delay) == (1.0, 30.0)


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ClientConfig().attempts = 3


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("attempts", 0, "[1, 100]"),
        ("attempts", 2.0, "an integer"),
        ("attempts", True, "an integer"),
        ("connect_timeout", 0, "[0.001, 600]"),
        ("read_timeout", float("nan"), "[0.001, 600]"),
        ("patience", float("inf"), "[0, 86400]"),
        ("first_delay", -1, "[0, 3600]"),
        ("longest_delay", "30", "a number"),
        ("longest_delay", 0.5, "less than first_delay"),
        ("max_response_bytes", 10, "[1024,"),
    ],
)
def test_a_value_outside_its_interval_names_field_value_and_interval(field, value, words):
    with pytest.raises(InvalidParameter) as caught:
        ClientConfig(**{field: value})
    assert caught.value.field == field
    for part in (field, repr(value), words):
        assert part in str(caught.value)


DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("url", "base", "loopback"),
    [
        ("https://polls.example.org", "https://polls.example.org", False),
        ("https://example.org:8443/polls/", "https://example.org:8443/polls", False),
        ("http://localhost:5000", "http://localhost:5000", True),
        ("http://127.9.8.7", "http://127.9.8.7", True),
        ("http://[::1]:80/", "http://[::1]:80", True),
        ("https://127.0.0.1", "https://127.0.0.1", True),
    ],
)
def test_addresses(url, base, loopback):
    endpoint = Endpoint.parse(url)
    assert (endpoint.base, endpoint.loopback) == (base, loopback)


def test_resource_addresses_are_encoded():
    endpoint = Endpoint.parse("https://example.org/polls/")
    assert endpoint.url("surveys", "a/b c") == "https://example.org/polls/api/v1/surveys/a%2Fb%20c"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "http://10.0.0.1",
        "http://128.0.0.1",
        "http://localhost.example.org",
        "http://127.0.0.1.example.org",
        "http://[::2]",
        "http://0.0.0.0",
    ],
)
def test_http_is_refused_beyond_this_machine(url):
    with pytest.raises(InvalidParameter, match="unencrypted; use https") as caught:
        Endpoint.parse(url)
    assert caught.value.field == "url"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "not an address"),
        ("polls.example.org", "not an address"),
        ("ftp://example.org", "not an address"),
        ("https://", "not an address"),
        ("https://example.org:port", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("https://example.org?a=1", "query"),
        ("https://example.org#sha256=x", "from_link"),
        (None, "must be a string"),
        (b"https://example.org", "must be a string"),
    ],
)
def test_other_addresses_are_refused(url, words):
    with pytest.raises(InvalidParameter, match=words):
        Endpoint.parse(url)


def test_a_password_in_the_address_is_refused_and_not_shown():
    with pytest.raises(InvalidParameter, match="pass token=") as caught:
        Endpoint.parse("https://ann:pa55word@example.org")
    assert "pa55word" not in str(caught.value)


def test_loopback_is_decided_by_the_address_not_by_its_spelling():
    assert is_loopback("LOCALHOST")
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("127.0.0.1.evil")
    assert not is_loopback("")


def test_hosted_links():
    link = f"https://example.org/polls/s/work-and-health#sha256={DIGEST}"
    assert HostedLink.parse(link) == HostedLink(
        "https://example.org/polls", "work-and-health", DIGEST
    )
    assert HostedLink.parse("https://example.org/s/w").digest is None
    assert HostedLink.parse(f"https://example.org/s/w#token=t&sha256={DIGEST}").digest == DIGEST


@pytest.mark.parametrize(
    ("link", "field"),
    [
        ("https://example.org/survey/w", "link"),
        ("https://example.org/s/", "link"),
        ("https://[::1/s/w", "link"),
        ("http://example.org/s/w", "url"),
        ("https://example.org/s/W", "survey"),
        ("https://example.org/s/w#sha256=12", "digest"),
        (None, "link"),
        (b"https://example.org/s/w", "link"),
    ],
)
def test_other_links_are_refused(link, field):
    with pytest.raises(InvalidParameter) as caught:
        HostedLink.parse(link)
    assert caught.value.field == field
