"""A number that is asked for in the terminal: its limits and unit, and what is no number."""

from __future__ import annotations

import io

from rich.console import Console

from hushpoll_client.cli.interview import interview
from hushpoll_shared import Manifest


class _Typing(Console):
    """A terminal at which these lines are typed."""

    def __init__(self, *lines: str) -> None:
        super().__init__(file=io.StringIO(), width=200)
        self._lines = iter(lines)

    def input(self, *_: object, **__: object) -> str:
        return next(self._lines)


def test_number_is_typed_within_its_limits_or_skipped_and_asked_again() -> None:
    published = Manifest.from_dict(
        {
            "name": "n",
            "version": 1,
            "title": "N",
            "epsilon": "2",
            "protocol": "GRR",
            "attributes": [
                {
                    "name": "income",
                    "role": "sensitive",
                    "number": {"low": 0, "high": 5000, "unit": "euros"},
                    "missing": "not said",
                    "question": "What do you earn a month?",
                },
                {"name": "children", "role": "plain", "number": {"low": 0, "high": 12}},
            ],
        }
    ).resolve()
    terminal = _Typing("5001", "12.5", "much", "1234", "2")
    assert interview(published, terminal) == {"income": "1234", "children": "2"}
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]  # it is a StringIO
    assert "A whole number from 0 to 5000, euros" in shown
    assert shown.count("That is no whole number from 0 to 5000; please try again.") == 3
    assert interview(published, _Typing("", "0")) == {"income": None, "children": "0"}
