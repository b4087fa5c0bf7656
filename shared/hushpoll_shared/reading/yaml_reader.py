"""Reads the YAML of a survey's author as the JSON subset of YAML 1.2 would be read.

PyYAML implements YAML 1.1, in which the category ``No`` is false, ``12:30`` is 750 and
``2026-01-31T09:00:00Z`` is a datetime. Here plain words are text unless they are null, true, false
or a JSON number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from hushpoll_protocols import InvalidParameter, MissingExtra
from hushpoll_shared.reading.text_files import text_of

try:
    import yaml
except ImportError:
    raise MissingExtra("cli", "reading YAML manifests") from None


_BLANK: Final = "\0 \t\r\n\x85\u2028\u2029"
_FLOW: Final = ",[]{}"
_JSON_KEY_ENDS: Final = "\"']}"


class Syntax(yaml.SafeLoader):
    """The signs ? and : as YAML 1.2 has them between brackets.

    PyYAML takes each ? there for the sign of a key, so that ``[Never, Who knows?]`` would be
    refused. In 1.2 it is one only before a blank, and so is : unless it follows a quoted key.
    """

    _in_plain_text = False

    def scan_plain(self) -> yaml.ScalarToken:
        """Scan a text without quotes."""
        self._in_plain_text = True
        try:
            return super().scan_plain()
        finally:
            self._in_plain_text = False

    def peek(self, index: int = 0) -> str:
        """Return a character ahead; one that ends no text stands for ? inside a text."""
        character = str(super().peek(index))
        return "x" if self._in_plain_text and character == "?" else character

    def check_key(self) -> bool:
        """Whether the ? ahead is the sign of a key."""
        return self._sign_ends() if self.flow_level else bool(super().check_key())

    def check_value(self) -> bool:
        """Whether the : ahead is the sign of a value."""
        if not self.flow_level:
            return bool(super().check_value())
        before = self.buffer[: self.pointer].rstrip(_BLANK)[-1:]
        return self._sign_ends() or (before != "" and before in _JSON_KEY_ENDS)

    def check_plain(self) -> bool:
        """Whether a text without quotes begins ahead."""
        begins = self.peek() in "?:" and not self._sign_ends()
        return begins or bool(super().check_plain())

    def _sign_ends(self) -> bool:
        return self.peek(1) in _BLANK + (_FLOW if self.flow_level else "")


class _Reader(Syntax):
    yaml_implicit_resolvers = {}  # noqa: RUF012  # PyYAML's own class attribute, started afresh

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                problem = "a key is a list or a mapping; keys are text"
            elif key.value in seen:
                problem = f"the key {key.value!r} appears twice"
            else:
                seen.add(key.value)
                continue
            raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        return super().construct_mapping(node, deep)


_Reader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|)$"), ["~", "n", ""])
_Reader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)$"), ["t", "f"])
_Reader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)$"), list("-0123456789")
)
_Reader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"),
    list("-0123456789"),
)


def _refuse(_: _Reader, node: yaml.Node) -> NoReturn:
    problem = f"the tag {node.tag!r} is none of JSON's types"
    raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


for _type in ("binary", "omap", "pairs", "set", "timestamp"):  # which JSON does not have
    _Reader.add_constructor(f"tag:yaml.org,2002:{_type}", _refuse)

RESOLVERS: Final[Mapping[str, Any]] = _Reader.yaml_implicit_resolvers
"""How plain words are told from texts, by their first character."""


def parse_yaml(data: bytes | str) -> Any:
    """Read one YAML document in UTF-8; refuses a repeated key and a tag beyond JSON's types."""
    text = data if isinstance(data, str) else text_of(data, name="the YAML", field="manifest")
    try:
        return yaml.load(text, Loader=_Reader)  # noqa: S506  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidParameter(
            f"not YAML: {error.problem}{place}; correct it there", field="manifest"
        ) from None
    except RecursionError:
        raise InvalidParameter("YAML nested too deeply; flatten it", field="manifest") from None
    except ValueError as error:  # a number of thousands of digits, or that is none
        raise InvalidParameter(
            f"not YAML: {str(error).split(';')[0]}; correct the number, or write it in quotes",
            field="manifest",
        ) from None
    except yaml.YAMLError as error:
        raise InvalidParameter(
            f"not YAML: {str(error).splitlines()[0]}; save it as UTF-8 text", field="manifest"
        ) from None
