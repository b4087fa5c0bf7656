"""The options of ``hushpoll simulate``, and tables of those that exclude or need each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from hushpoll_client.cli.options import needed, optional_url_option, token_option
from hushpoll_fleet.behaviour.plan import LONGEST_SECONDS, MISBEHAVIOURS, Arrivals
from hushpoll_fleet.sending.wire import LARGEST_CONCURRENCY
from hushpoll_shared.cli.terminal import json_option

_FILE = click.Path(dir_okay=False, path_type=Path)
_THERE = click.Path(exists=True, dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option(
        "--manifest",
        "manifest_file",
        type=_THERE,
        required=True,
        help="The manifest (.json, .yaml) of a survey that is published.",
    ),
    click.option(
        "--data",
        type=_THERE,
        help="CSV of respondents; by default they are drawn from the manifest's population.",
    ),
    click.option(
        "--answers-from",
        metavar="MODULE:FUNCTION",
        help="Python function that gives each respondent's answers, from (number, random.Random).",
    ),
    click.option(
        "--respondents", type=click.IntRange(min=1), help="How many to draw. [default: 1000]"
    ),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave out a column of --data."),
    click.option("--bad-rows", type=_FILE, help="Write every bad value of --data to this CSV."),
    click.option("--write-answers", type=_FILE, help="Write the true answers to this CSV."),
    click.option(
        "--write-truth",
        type=_FILE,
        help="Write the true shares, of the population and of those drawn, to this JSON file.",
    ),
    click.option("--dry-run", is_flag=True, help="Draw or check the respondents, send nothing."),
    click.option(
        "--to-file",
        type=_FILE,
        help="Write the reports to a new file instead; hushpoll submit uploads it.",
    ),
    optional_url_option,
    token_option,
    click.option(
        "--tokens",
        "token_file",
        type=_THERE,
        help="Respondents' tokens, one per line, for a token survey; by default made with --token.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1, LARGEST_CONCURRENCY),
        default=8,
        show_default=True,
        help="Respondents at a time.",
    ),
    click.option("--bulk", is_flag=True, help="Perturb with the kernels and upload in batches."),
    click.option(
        "--arrivals",
        type=click.Choice([str(pattern) for pattern in Arrivals]),
        default=str(Arrivals.AT_ONCE),
        show_default=True,
        help="When respondents arrive.",
    ),
    click.option(
        "--duration",
        type=click.FloatRange(0, LONGEST_SECONDS, min_open=True),
        help="Seconds over which they arrive.",
    ),
    click.option(
        "--misbehave",
        multiple=True,
        metavar="NAME=SHARE",
        help=f"Let a share of them misbehave: {', '.join(MISBEHAVIOURS)}. Repeat for several.",
    ),
    click.option(
        "--offline-seconds",
        type=click.FloatRange(0, LONGEST_SECONDS),
        default=5.0,
        show_default=True,
        help="How long offline respondents keep their reports.",
    ),
    click.option(
        "--target",
        multiple=True,
        metavar="ATTRIBUTE=CATEGORY",
        help="Category that maximal poisoners push.  [default: the first of each attribute]",
    ),
    click.option("--dask", metavar="ADDRESS", help="Spread the fleet over a Dask cluster."),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Make the draw and the behaviour repeatable, and with --bulk the noise too.",
    ),
    click.option(
        "--seeded-noise",
        is_flag=True,
        help="Make the noise of single respondents repeatable too.",
    ),
    json_option,
)


def simulate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_NOTHING_SENT = "--to-file sends nothing; leave --dask, --tokens and --arrivals out"
_NOT_TOGETHER = (
    ("data", "respondents", "--respondents is for drawing; with --data every row is played"),
    ("data", "answers_from", "--data and --answers-from both give the answers; choose one"),
    ("bulk", "token_file", "--tokens is for single reports; a batch carries none"),
    ("bulk", "arrivals", "--arrivals is for single respondents; a batch arrives at once"),
    *(("to_file", option, _NOTHING_SENT) for option in ("dask", "token_file", "arrivals")),
)
"""Two options that exclude each other, and why."""

_ONLY_WITH_DATA = "--ignore and --bad-rows are for --data; without it they do nothing"
_NEEDS = (
    ("ignore", "data", _ONLY_WITH_DATA),
    ("bad_rows", "data", _ONLY_WITH_DATA),
    ("seeded_noise", "seed", "--seeded-noise needs --seed"),
    ("duration", "arrivals", "--duration needs --arrivals poisson or daily"),
    ("arrivals", "duration", "--arrivals {value} needs --duration"),
)
"""An option, another that it needs, and what is said without that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The values of the options; see the command's help."""

    manifest_file: Path
    data: Path | None
    answers_from: str | None
    respondents: int | None
    ignore: tuple[str, ...]
    bad_rows: Path | None
    write_answers: Path | None
    write_truth: Path | None
    dry_run: bool
    to_file: Path | None
    url: str | None
    token: str | None
    token_file: Path | None
    concurrency: int
    bulk: bool
    arrivals: str
    duration: float | None
    misbehave: tuple[str, ...]
    offline_seconds: float
    target: tuple[str, ...]
    dask: str | None
    seed: int | None
    seeded_noise: bool
    as_json: bool

    @property
    def count(self) -> int:
        """Respondents to draw."""
        return self.respondents or 1000

    @property
    def noise_seed(self) -> int | None:
        """The seed of the noise, if it is to be repeatable."""
        return self.seed if self.bulk or self.seeded_noise else None

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises
        ------
        click.UsageError
            Naming them.
        """
        for first, second, words in _NOT_TOGETHER:
            if self._gives(first) and self._gives(second):
                raise click.UsageError(words)
        for option, needs, words in _NEEDS:
            if self._gives(option) and not self._gives(needs):
                raise click.UsageError(words.format(value=getattr(self, option)))
        if not self.dry_run and self.to_file is None:
            needed(self.url)

    def _gives(self, option: str) -> bool:
        """Return whether an option says something else than its default."""
        value = getattr(self, option)
        return value is not None and value is not False and value not in ((), Arrivals.AT_ONCE)
