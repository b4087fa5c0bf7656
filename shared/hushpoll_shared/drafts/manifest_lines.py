"""Where the fields of a manifest stand in its file: the line that a message about one names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from hushpoll_protocols import MissingExtra
from hushpoll_shared.drafts.manifest_problems import ManifestProblem

try:
    import yaml

    from hushpoll_shared.reading.yaml_reader import Syntax
except ImportError:
    raise MissingExtra("cli", "finding the lines of a manifest") from None

_Path = tuple[str | int, ...]

_ROOT: Final[_Path] = ()
_DEPTH: Final = 6
"""No field of a manifest is nested deeper."""
_PART: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_OF_A_QUESTION: Final = re.compile(r"attributes\[[^\]]*\]")
_SYNTAX: Final = re.compile(r" at line ([0-9]+), column ")


def lines_of(data: bytes) -> dict[tuple[str | int, ...], int]:
    """Return the line of each field of a YAML or JSON document, from 1, by the field's path.

    Of JSON that indents by tabs, which YAML does not, no line is known.
    """
    try:
        root = yaml.compose(data, Loader=Syntax)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return {} if root is None else dict(_walk(root, _ROOT, {id(root)}))


def line_of(problem: ManifestProblem, lines: Mapping[_Path, int]) -> int | None:
    """Return the line of a problem's field, or of the nearest field around it; None if unknown."""
    if syntax := _SYNTAX.search(problem.message):
        return int(syntax[1])
    path = _path(problem)
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


def _path(problem: ManifestProblem) -> _Path:
    field, start = problem.field, _ROOT
    if problem.position is not None:
        start = ("attributes", problem.position)
        field = _OF_A_QUESTION.sub("", field, count=1)
    parts = (bracket or name for bracket, name in _PART.findall(field))
    return (*start, *(int(part) if part.isdecimal() else part for part in parts))


def _walk(node: yaml.Node, path: _Path, seen: set[int]) -> Iterator[tuple[_Path, int]]:
    if len(path) >= _DEPTH:
        return
    for key, place, value in _members(node):
        # An alias may stand for very much, or for what holds it.
        if id(value) in seen:
            continue
        seen.add(id(value))
        inner = (*path, key)
        yield inner, place.start_mark.line + 1
        yield from _walk(value, inner, seen)


def _members(node: yaml.Node) -> Iterator[tuple[str | int, yaml.Node, yaml.Node]]:
    """Return the key, the node whose line counts, and the value of each part of a node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key.value, key, value
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            yield place, value, value
