"""The file of a survey design, and weighted shares as text (extra ``cli``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.estimates_text import heading
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.spelling.intervals import how_to_read


def read_design(path: Path | None) -> dict[str, Any]:
    """Return the design that a file has; without a file an empty one.

    Raises
    ------
    InvalidParameter
        If the file has another ending, is not JSON or YAML, or is no object.
    OSError
        If it cannot be read.
    """
    if path is None:
        return {}
    match path.suffix.lower():
        case ".json":
            document = parse_json(path.read_bytes())
        case ".yaml" | ".yml":
            from hushpoll_shared.survey.yaml_reader import parse_yaml

            document = parse_yaml(path.read_bytes())
        case _:
            raise InvalidParameter(
                f"the design {path} must end in .json, .yaml or .yml: rename it", field="design"
            )
    if not isinstance(document, dict):
        raise InvalidParameter(
            f"the design {path} is no object; give such as "
            '{"margins": [{"attributes": ["region"], "shares": {"North": 0.4, "South": 0.6}}]}',
            field="design",
        )
    return document


def weighted_shares_text(answer: Mapping[str, Any]) -> str:
    """Return weighted shares beside the unweighted ones as a table.

    Parameters
    ----------
    answer : mapping
        As a server gives it.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such answer.
    """
    level = f"{100 * float(answer['confidence']):g} % interval"
    rows = answer["shares"]
    with_totals = any(row["total"] is not None for row in rows)
    table = Table(title=str(answer["attribute"]), title_justify="left")
    table.add_column("category", overflow="fold")
    headings = ["weighted", "std. error", level, "unweighted", *(["people"] if with_totals else [])]
    for title in headings:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        numbers = ["", "", "cannot conclude"]
        if row["value"] is not None:
            numbers = [
                f"{row['value']:.4f}",
                f"{row['standard_error']:.4f}",
                f"{row['lower']:.4f} to {row['upper']:.4f}",
            ]
        people = row["total"]
        if with_totals:
            known = people is not None and people["value"] is not None
            total = f"{people['value']:,.0f}" if known else ""
        table.add_row(
            str(row["category"]),
            *numbers,
            f"{row['unweighted']['value']:.4f}",
            *([total] if with_totals else []),
        )
    parts: list[Table | str] = [heading(answer), table]
    if answer["cannot_conclude"] is not None:
        parts.append(str(answer["cannot_conclude"]))
    else:
        parts.append(
            f"The records are worth {float(answer['effective_n']):.0f} of one weight (Kish). "
            f"The margins change a weight by a factor from {float(answer['smallest_factor']):.3g} "
            f"to {float(answer['largest_factor']):.3g}."
        )
    shown = sum(row["value"] is not None for row in rows)
    if shown:
        parts.append(how_to_read(shown, float(answer["confidence"])))
    return rendered(*parts, str(answer["assumption"]))
