"""The options of ``hushpoll simulate``, and which of them go together."""

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
_SECONDS = click.FloatRange(0, LONGEST_SECONDS)

_OPTIONS = (
    click.option(
        "--manifest",
        "manifest_file",
        type=_THERE,
        required=True,
        help="The survey's manifest (.json, .yaml), published already.",
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
    click.option("--duration", type=_SECONDS, default=0.0, help="Seconds over which they arrive."),
    click.option(
        "--misbehave",
        multiple=True,
        metavar="NAME=SHARE",
        help=f"Let a share of them misbehave: {', '.join(MISBEHAVIOURS)}. Repeat for several.",
    ),
    click.option(
        "--offline-seconds",
        type=_SECONDS,
        default=5.0,
        show_default=True,
        help="How long the offline ones keep their reports.",
    ),
    click.option(
        "--target",
        multiple=True,
        metavar="ATTRIBUTE=CATEGORY",
        help="What maximal poisoners push.  [default: each attribute's first category]",
    ),
    click.option("--dask", metavar="ADDRESS", help="Spread the fleet over a Dask cluster."),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Makes the draw, the behaviour, and --bulk, repeatable.",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The options as they were given; see the command's help."""

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
    duration: float
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
        at_once = self.arrivals == Arrivals.AT_ONCE
        for wrong, words in (
            (
                self.data and self.respondents,
                "--respondents is for drawing; with --data every row is played",
            ),
            (
                self.data and self.answers_from,
                "--data and --answers-from both give the answers; choose one",
            ),
            (
                not self.data and (self.ignore or self.bad_rows),
                "--ignore and --bad-rows are for --data; without it they do nothing",
            ),
            (
                self.bulk and self.token_file,
                "--tokens is for single reports; a batch carries none",
            ),
            (self.seeded_noise and self.seed is None, "--seeded-noise needs --seed"),
            (
                not at_once and self.bulk,
                "--arrivals is for single respondents; a batch arrives at once",
            ),
            (at_once and self.duration, "--duration needs --arrivals poisson or daily"),
            (not at_once and not self.duration, f"--arrivals {self.arrivals} needs --duration"),
            (
                self.to_file and (self.dask or self.token_file or not at_once),
                "--to-file sends nothing; leave --dask, --tokens and --arrivals out",
            ),
        ):
            if wrong:
                raise click.UsageError(words)
        if not self.dry_run and self.to_file is None:
            needed(self.url)
