"""Writes a manifest as YAML that its own reader gives back unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hushpoll_shared.reading.yaml_reader import RESOLVERS

import yaml  # isort: skip  # the reader has raised the error that names the missing extra

_WIDTH: Final = 120
_MOST_IN_A_LINE: Final = 12


class _Writer(yaml.SafeDumper):
    # A plain word must mean the same to our reader and to readers of YAML 1.1: else it is quoted.
    yaml_implicit_resolvers = {  # noqa: RUF012  # PyYAML's own class attribute
        first: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
            *RESOLVERS.get(first, []),
        ]
        for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *RESOLVERS}
    }

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True

    def represent_short(self, data: list[Any]) -> yaml.Node:
        short = len(data) <= _MOST_IN_A_LINE and all(isinstance(one, str | int) for one in data)
        tag = "tag:yaml.org,2002:seq"
        return self.represent_sequence(tag, data, flow_style=short)

    def represent_text(self, data: str) -> yaml.Node:
        # Line breaks of other scripts would be folded within other quotes.
        style = None if data.replace("\n", "").isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Writer.add_representer(str, _Writer.represent_text)
_Writer.add_representer(list, _Writer.represent_short)


def write_yaml(document: Mapping[str, object]) -> str:
    """Return a JSON document as YAML; its members keep their order."""
    return str(
        yaml.dump(
            document,
            Dumper=_Writer,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=False,
            width=_WIDTH,
        )
    )
