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

try:
    import yaml
except ImportError:
    raise MissingExtra("cli", "reading YAML manifests") from None


class _Reader(yaml.SafeLoader):
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


def parse_yaml(data: bytes) -> Any:
    """Read one YAML document.

    Raises
    ------
    InvalidParameter
        If it is not YAML, repeats a key, or has a tag beyond JSON's types.
    """
    try:
        return yaml.load(data, Loader=_Reader)  # noqa: S506  # a SafeLoader
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
