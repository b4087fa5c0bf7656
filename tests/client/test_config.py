from __future__ import annotations

import dataclasses

import pytest

from hushpoll_client.config import ClientConfig
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
