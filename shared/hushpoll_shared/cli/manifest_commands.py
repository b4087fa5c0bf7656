"""The commands ``hushpoll manifest``: the JSON Schema that editors use, and a check of a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.terminal import FAILED, emit, json_option, reports_errors
from hushpoll_shared.drafts.manifest import Manifest, load_document
from hushpoll_shared.drafts.manifest_problems import (
    MOST_PROBLEMS,
    ManifestProblem,
    manifest_problems,
    problem_of,
)
from hushpoll_shared.drafts.schema import schema_text
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.questions.domain_size import QUOTED_REPORTS, too_fine

try:
    import click
except ImportError:
    raise MissingExtra("cli", "the command line") from None


@click.command()
def schema() -> None:
    """Print the JSON Schema of a manifest, which editors check and complete with."""
    click.echo(schema_text(), nl=False)


@click.command()
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--respondents",
    type=click.IntRange(min=1, max=10**9),
    default=QUOTED_REPORTS,
    show_default=True,
    help="How many people are expected to answer.",
)
@json_option
@reports_errors
def check(manifest: Path, respondents: int, as_json: bool) -> None:
    """Check that MANIFEST (.json, .yaml) could be published, and print its digest.

    Warn of questions with more answers than so many respondents can tell apart.

    If a manifest could not, print all its faults, each with its line and what to do, and end with
    1. No server is asked.
    """
    draft, problems = _checked(manifest)
    if problems:
        listed = with_lines(manifest, [vars(problem) for problem in problems])
        emit(
            {"valid": False, "problems": listed},
            lambda: refusal(manifest, listed),
            as_json=as_json,
        )
        raise click.exceptions.Exit(FAILED)
    manifest_read = Manifest.from_dict(draft)
    published = manifest_read.resolve()
    reasons = [choice.reason for choice in manifest_read.choices]
    document: dict[str, Any] = {
        "valid": True,
        "problems": [],
        "survey": published.name,
        "version": published.version,
        "attributes": len(published.attributes),
        "digest": published.digest,
        "warnings": [
            {"attribute": attribute.name, "message": fine.message, "needed": fine.needed}
            for attribute in published.attributes
            if (fine := too_fine(attribute, respondents)) is not None
        ],
        **({"selects": reasons} if reasons else {}),
    }
    emit(
        document,
        lambda: (
            f"{published.name} version {published.version} is a valid manifest of "
            f"{len(published.attributes)} attributes\ndigest: {published.digest}"
            + "".join(f"\n{reason}" for reason in reasons)
            + "".join(f"\nwarning: {one['message']}" for one in document["warnings"])
        ),
        as_json=as_json,
    )


def _checked(path: Path) -> tuple[object, tuple[ManifestProblem, ...]]:
    """Return the document of a file, and all for which it would be refused as a manifest."""
    try:
        draft = load_document(path)
    except InvalidParameter as error:
        if error.field == "path":
            raise
        # what cannot be read has one fault, and no further ones can be seen
        message = str(error).removeprefix(f"{word(path)}: ")
        return None, (problem_of(None, error.field, message),)
    return draft, manifest_problems(draft)


def with_lines(path: Path, problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the problems of a manifest with their ``line`` in its file, in the file's order.

    Each has ``field``, ``message`` and, of a question, ``position``; a server's may be something
    else, which raises KeyError, TypeError or ValueError.
    """
    # only a manifest with a fault pays for reading its file a second time
    from hushpoll_shared.drafts.manifest_lines import line_of, lines_of

    lines = lines_of(path.read_bytes())
    listed = [{**problem, "line": line_of(_of_file(problem), lines)} for problem in problems]
    return sorted(listed, key=lambda problem: problem["line"] or 0)


def _of_file(problem: Mapping[str, Any]) -> ManifestProblem:
    return ManifestProblem(
        problem["field"], None, problem["message"], None, problem.get("position")
    )


def refusal(path: Path, problems: Sequence[JsonObject]) -> str:
    """Return the problems of `with_lines` as text: a line for each, which its place begins."""
    count = len(problems)
    many = "1 fault" if count == 1 else f"{count} faults"
    lines = [f"{path.name} cannot be published, for it has {many}:"]
    for problem in problems:
        place = path.name if problem["line"] is None else f"{path.name}:{problem['line']}"
        lines.append(f"{place}: {_sentence(problem)}")
    if count == MOST_PROBLEMS:
        lines.append("There may be more faults: correct these, then check again.")
    return "\n".join(lines)


def _sentence(problem: Mapping[str, Any]) -> str:
    """Return the message of a problem, which names its field."""
    message, field = " ".join(problem["message"].split()), problem["field"]
    question, _, part = field.rpartition(".")
    names = (part.partition("[")[0], question)
    named = any(name and name.lower() in message.lower() for name in names)
    return message if named else f"{field}: {message}"
