"""One setting: the texts that it reads, and the words by which it refuses others."""

from __future__ import annotations

import re

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import SETTINGS, Settings


def test_a_refused_secret_is_not_shown():
    with pytest.raises(InvalidParameter, match=re.escape("DATABASE_URL is ***, which is not text")):
        Settings(database_url="postgresql://me:word@db/\0")


def test_every_kind_of_setting_reads_a_text_and_refuses_another_value():
    good = {
        "port": ("3", 3, 70_000),
        "request_seconds": ("0.25", 0.25, 0.01),
        "sealing": ("worker", "worker", "nobody"),
        "host": ("x", "x", ""),
        "behind_tls": ("true", True, 1),
        "metrics_token": ("", None, "short"),
    }
    for name, (text, expected, refused) in good.items():
        value = SETTINGS[name].parse(text)
        assert getattr(Settings(**{name: value}), name) == expected
        with pytest.raises(InvalidParameter, match=name.upper()):
            Settings(**{name: refused})
    for name, text in {"port": "x", "request_seconds": "", "behind_tls": "yes"}.items():
        with pytest.raises(InvalidParameter, match=name.upper()):
            SETTINGS[name].parse(text)
