"""The table of settings: bounds, defaults, unknown names, and changes that are checked again."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.config.settings import Settings


def test_a_bound_that_is_another_setting_is_checked_with_its_value():
    assert Settings(max_json_bytes=2048, max_body_bytes=2048).max_json_bytes == 2048
    with pytest.raises(InvalidParameter, match=r"MAX_JSON_BYTES is 2049, outside \[256, 2048\]"):
        Settings(max_json_bytes=2049, max_body_bytes=2048)
    with pytest.raises(InvalidParameter, match=r"MAX_JSON_BYTES is 5, outside \[256, 10485760\]"):
        Settings(max_json_bytes=5)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InvalidParameter, match="'prot'; did you mean 'port'"):
        Settings(prot=5)


def test_changed_settings_are_checked_again():
    settings = Settings(port=5)
    assert (settings.changed(threads=7).port, settings.changed(threads=7).threads) == (5, 7)
    with pytest.raises(InvalidParameter, match="THREADS is 0"):
        settings.changed(threads=0)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"DATABASE": "x"}, "DATABASE"),
        ({"database_url": "x"}, "database_url"),
        ({"MAX_BODY_BYTES": 10}, "MAX_BODY_BYTES"),
        ({"MAX_BODY_BYTES": 1500.5}, "MAX_BODY_BYTES"),
        ({"MAX_JSON_BYTES": 2**29}, "MAX_JSON_BYTES"),
        ({"MAX_BULK_REPORTS": 10**9}, "MAX_BULK_REPORTS"),
        ({"REQUEST_SECONDS": -1}, "REQUEST_SECONDS"),
        ({"REQUEST_SECONDS": float("nan")}, "REQUEST_SECONDS"),
        ({"GROUP_COMMIT_REPORTS": 0}, "GROUP_COMMIT_REPORTS"),
        ({"QUEUE_REPORTS": True}, "QUEUE_REPORTS"),
        ({"CLOSE_GRACE_SECONDS": "60"}, "CLOSE_GRACE_SECONDS"),
        ({"SEAL_AT": 1500.5}, "SEAL_AT"),
        ({"SEAL_IDLE_SECONDS": 0}, "SEAL_IDLE_SECONDS"),
        ({"MAX_TOKENS": 0}, "MAX_TOKENS"),
        ({"POOL_SIZE": 0}, "POOL_SIZE"),
    ],
)
def test_invalid_setting_of_the_application_is_refused_by_key(config, field):
    """Guards: 1500.5 used to be taken for a number of bytes or connections."""
    with pytest.raises(InvalidParameter, match=field) as refused:
        create_app(config)
    assert refused.value.field == field


def test_the_configuration_has_defaults_and_is_frozen():
    settings = Settings.from_mapping({"TESTING": True, "SEAL_AT": 7})
    assert settings.seal_at == 7
    assert settings.database_url == "sqlite:///hushpoll.sqlite"
    with pytest.raises(ValidationError, match="frozen"):
        settings.seal_at = 8
