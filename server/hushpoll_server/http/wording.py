"""What is wrong with a request's fields, in words: field, value, what is allowed, what to do.

pydantic checks requests. Its own messages speak of inputs, strings and instances of classes; these
speak of the field, and end with the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hushpoll_shared.spelling.text import show

# Names of the alternatives of a field, which pydantic adds to the field's path.
_ALTERNATIVES: Final = frozenset({"bool", "constrained-str", "float", "int", "str"})
_MOST_ALTERNATIVES: Final = 8

# The two kinds of patterns that requests have: so many characters of a set, and one of some words.
_CHARACTERS: Final = re.compile(r"\^\[(?P<set>[^]^]+)\]\{(?P<counts>\d+(?:,\d+)?)\}\$")
_WORDS: Final = re.compile(r"\^\((?P<words>[\w|-]+)\)\$")

WANTED: Final[Mapping[str, str]] = {
    "bool_parsing": "give true or false",
    "bool_type": "give true or false",
    "dict_type": "give an object",
    "mapping_type": "give an object",
    "model_type": "give an object",
    "model_attributes_type": "give an object",
    "finite_number": "give a finite number",
    "float_parsing": "give a number",
    "float_type": "give a number",
    "int_from_float": "give a whole number",
    "int_parsing": "give a whole number",
    "int_parsing_size": "give a smaller whole number",
    "int_type": "give a whole number",
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give at least {ge}",
    "less_than": "give less than {lt}",
    "less_than_equal": "give at most {le}",
    "list_type": "give a list",
    "literal_error": "give {expected}",
    "string_pattern_mismatch": "give {form}",
    "string_too_long": "give at most {max_length} characters",
    "string_too_short": "give at least {min_length} characters",
    "string_type": "give a text, in quotes",
    "string_unicode": "give a text that can be written in UTF-8",
    "too_long": "give at most {max_length} entries",
    "too_short": "give at least {min_length} entries",
    "extra_forbidden": "there is no such field; leave it out",
    "missing": "add it",
}
"""What is allowed, or what to do, by the type of pydantic's error, with the error's own terms."""


def words_of(error: ValidationError) -> tuple[str, str]:
    """Return the path of the first field that is refused, and a sentence without full stop.

    The request is no report: its values are shown. The sentence's last part says what to do.
    """
    problems = error.errors(include_url=False)
    first = problems[0]
    field = _path(first)
    value = "missing" if first["type"] == "missing" else show(first["input"])
    allowed = [_wanted(problem) for problem in problems if _path(problem) == field]
    wanted = " or ".join(list(dict.fromkeys(allowed))[:_MOST_ALTERNATIVES])
    return field, f"{field} is {value}; {wanted.replace(' or give ', ' or ')}"


def _path(problem: ErrorDetails) -> str:
    parts = list(problem["loc"])
    if len(parts) > 1 and parts[-1] in _ALTERNATIVES:
        parts.pop()
    return ".".join(map(str, parts)) or "body"


def _wanted(problem: ErrorDetails) -> str:
    words = WANTED.get(problem["type"])
    if words is not None:
        terms = {
            key: f"{term:g}" if isinstance(term, float) else term
            for key, term in problem.get("ctx", {}).items()
        }
        if "pattern" in terms:
            terms["form"] = form_of(terms["pattern"])
        return words.format_map(terms).replace(" 1 entries", " 1 entry")
    reason = problem.get("ctx", {}).get("error")
    return str(reason) if isinstance(reason, ValueError) else "give a value as the API describes it"


def form_of(pattern: str) -> str:
    """Say in words which texts a pattern allows, such as ``16 characters out of 0-9 and a-f``.

    A pattern is so many characters of a set, or one of some words; a test sees to it that requests
    have no other ones.
    """
    characters = _CHARACTERS.fullmatch(pattern)
    if characters:
        *others, last = re.findall(r"\w-\w|.", characters["set"])
        allowed = f"{', '.join(others)} and {last}" if others else last
        return f"{characters['counts'].replace(',', ' to ')} characters out of {allowed}"
    words = _WORDS.fullmatch(pattern)
    if words:
        return " or ".join(words["words"].split("|"))
    return f"a text of the form {pattern}"
