"""The respondents of a simulation: from a file, from a population, or from a function."""

from __future__ import annotations

import csv
import importlib
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushpoll_client import InvalidParameter
from hushpoll_fleet.population.csv_respondents import BadRows, read_respondents
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.survey.questions.follow_ups import code_answer, routes_of
from hushpoll_shared.survey.questions.selects import spread_answers

if TYPE_CHECKING:
    from hushpoll_fleet.population.population import Population


def from_file(
    data: Path, manifest: Manifest, ignored: tuple[str, ...], bad_rows: Path | None
) -> SimulatedRespondents:
    """Read a CSV, writing its bad values to a file of their own if there are any."""
    try:
        asked = manifest.expanded
        respondents = read_respondents(
            data, asked.attributes, ignored=ignored, selects=asked.selects
        )
    except BadRows as error:
        if bad_rows is not None:
            with bad_rows.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow(["row", "line", "column", "value", "remedy"])
                writer.writerows(
                    [bad.row, bad.line, *map(escaped, (bad.column, bad.value, bad.remedy))]
                    for bad in error.values
                )
        # A HushpollError would be printed in one line, and these are a list to work through.
        raise click.ClickException(str(error)) from None
    if not len(respondents):
        raise InvalidParameter(
            f"{data} has a header and no rows; give one row per respondent", field="data"
        )
    return respondents


def from_population(
    manifest: Manifest, count: int, seed: int | None
) -> tuple[Population, SimulatedRespondents]:
    """Draw from the population that the manifest describes."""
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "drawing respondents") from None
    from hushpoll_fleet.population.population import Population

    rng = np.random.default_rng(None if seed is None else [seed, 0])
    population = Population.from_manifest(manifest)
    attributes = manifest.expanded.attributes
    return population, SimulatedRespondents(attributes, population.sample(count, rng))


def from_function(
    manifest: Manifest, target: str, count: int, seed: int | None
) -> SimulatedRespondents:
    """Ask a function for each respondent's answers.

    Parameters
    ----------
    target : str
        ``MODULE:FUNCTION``, importable from the current folder or the environment. It is called
        with the respondent's number, from 0, and a ``random.Random`` of its own, and returns a
        mapping of attributes to categories (None for a missing answer, and for a follow-up that is
        not asked), and for a select-all to the list of options that apply.
    count : int
        Respondents.
    seed : int or None
        Of the generators.

    Raises
    ------
    InvalidParameter
        If there is no such function, or it returns something else than answers.
    """
    answer = _function(target)
    asked = manifest.expanded
    names = {attribute.name for attribute in (*manifest.attributes, *asked.attributes)}
    texts = {attribute.name: attribute.question for attribute in asked.attributes}
    routes = routes_of(asked.attributes)
    rows = []
    for number in range(count):
        rng = random.Random() if seed is None else random.Random(f"{seed}/answers/{number}")
        answers = answer(number, rng)
        if not isinstance(answers, dict) or not names.issuperset(answers):
            raise InvalidParameter(
                f"{target} returned for respondent {number} what is no mapping of the survey's "
                f"attributes, which are {', '.join(sorted(names))}; correct the function",
                field="answers-from",
            )
        spread = spread_answers(answers, asked.selects, texts) if asked.selects else answers
        codes: dict[str, int] = {}
        for attribute in asked.attributes:
            given = spread.get(attribute.name)
            codes[attribute.name] = code_answer(attribute, given, codes, routes)
        for select in asked.selects:
            select.check_count(sum(codes[name] for name in select.attributes))
        rows.append(tuple(codes.values()))
    return SimulatedRespondents.of_rows(asked.attributes, rows)


def _function(target: str) -> Any:
    module, colon, name = target.partition(":")
    # Like a script, the command finds modules in the current folder.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidParameter(
            f"--answers-from is {target!r}: {error}; give MODULE:FUNCTION, importable from here",
            field="answers-from",
        ) from None
    if not colon or not callable(function):
        raise InvalidParameter(
            f"--answers-from is {target!r}, which is no function; give MODULE:FUNCTION",
            field="answers-from",
        )
    return function
