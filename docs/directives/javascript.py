"""The JavaScript reference, made of the JSDoc of the modules that export public names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from directives.markdown import code, table

SOURCES = Path(__file__).parents[2] / "client" / "hushpoll_client_js" / "src"

# By the name that an app imports: each source file, and the names that are public in it.
PUBLIC: dict[str, dict[str, tuple[str, ...]]] = {
    "hushpoll": {
        "client.js": ("SurveyClient", "Options"),
        "ledger.js": ("Limits",),
        "preview.js": ("preview", "inWords", "Preview", "Perturbed"),
        "consequences.js": ("consequences", "Label"),
        "outbox.js": ("Receipt",),
        "published.js": ("readPublished", "Published"),
        "words.js": ("Words",),
        "languages.js": ("direction", "languageFor"),
        "wording.js": ("inLanguage",),
        "errors.js": (
            "HushpollError",
            "InvalidParameter",
            "ManifestRefused",
            "BudgetExhausted",
            "ConsentMissing",
            "StorageError",
            "TransportError",
        ),
        "storage.js": ("Entry", "Storage"),
    },
    "hushpoll/surveyjs": {
        "surveyjs.js": ("declareMarks", "attach", "sayTreatment"),
        "surveyjs_form.js": ("formOf",),
    },
    "hushpoll/memory_storage": {"memory_storage.js": ("memoryStorage",)},
}

_COMMENT = re.compile(r"^( *)/\*\*(.*?)\*/\n?([^\n]*)", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"export (?:async )?(?:function|class|const) (\w+)")
_METHOD = re.compile(r"  (?:async )?(constructor|[a-z]\w*)\(")
_TYPEDEF = re.compile(r"^@typedef \{object\} (\w+)", re.MULTILINE)
_MEMBER = re.compile(
    r"^@(param|property|returns|throws) \{((?:[^{}]|\{[^{}]*\})*)\}(.*?)(?=^@|\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """One documented name.

    Parameters
    ----------
    name : str
        Such as ``SurveyClient.submit``.
    line : str
        The line of code below the comment; empty for a type.
    comment : str
        Without its stars.
    """

    name: str
    line: str
    comment: str


def text() -> str:
    """Return every public name of the package with its members."""
    parts = []
    for module, files in PUBLIC.items():
        parts += [f"## Names of `{module}`", ""]
        for file, names in files.items():
            entries = list(_entries((SOURCES / file).read_text(encoding="utf-8")))
            for name in names:
                own = [entry for entry in entries if entry.name.partition(".")[0] == name]
                if not own:
                    raise LookupError(
                        f"{file} documents no {name}; correct directives/javascript.py"
                    )
                parts += [_section(entry) for entry in own]
    return "\n".join(parts)


def _entries(source: str) -> Iterator[Entry]:
    current = ""
    for indent, body, line in _COMMENT.findall(source):
        comment = re.sub(r"^ *\* ?", "", body.strip(), flags=re.MULTILINE)
        export, method = _EXPORT.match(line), _METHOD.match(line)
        if declared := _TYPEDEF.search(comment):
            yield Entry(declared[1], "", comment)
        elif export:
            current = export[1]
            yield Entry(current, line.removeprefix("export ").rstrip(" {}"), comment)
        elif method and len(indent) == 2 and current:
            yield Entry(f"{current}.{method[1]}", line.strip().rstrip(" {"), comment)


def _section(entry: Entry) -> str:
    description = entry.comment.partition("@")[0]
    rows = [(kind, *_split(form, rest)) for kind, form, rest in _MEMBER.findall(entry.comment)]
    return "\n".join(
        [
            f"### {entry.name}",
            "",
            " ".join(description.split()),
            "",
            code(entry.line, "js") if entry.line else "",
            table(
                ("kind", "name", "type", "what it means"),
                (
                    (kind, f"`{name}`" if name else "", f"`{form}`", rest)
                    for kind, form, name, rest in rows
                ),
            ),
        ]
    ).replace("`{}`", "")


def _split(form: str, rest: str) -> tuple[str, str, str]:
    """Return the type, the name and the meaning of a tag."""
    type_of = re.sub(r'import\("[^"]*"\)\.', "", " ".join(form.split()))
    words = " ".join(rest.split())
    name, _, meaning = words.partition(" ")
    if re.fullmatch(r"\[?[\w.=]+\]?", name) and (
        not meaning or meaning[0].isupper() or name[0] == "["
    ):
        return type_of, name, meaning
    return type_of, "", words
