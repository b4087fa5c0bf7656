"""``hushpoll simulate``: play respondents through the real client, in bulk, or into a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from hushpoll_client import InvalidParameter, ManifestRefused, Published
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import analyst as short_patience
from hushpoll_client.cli.options import optional_url_option, required_url, token_option
from hushpoll_client.device.consent import check_pin
from hushpoll_fleet.behaviour import (
    LONGEST_SECONDS,
    MISBEHAVIOURS,
    Arrivals,
    FleetPlan,
    parse_shares,
    targets_of,
)
from hushpoll_fleet.population.respondents import from_file, from_function, from_population
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents, marginals
from hushpoll_fleet.sending.account import Account, ServerCounts, reconcile
from hushpoll_fleet.sending.bulk import play_bulk
from hushpoll_fleet.sending.cluster import play_on_cluster
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_fleet.sending.offline import write_reports
from hushpoll_fleet.sending.wire import LARGEST_CONCURRENCY, play
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.cli.out_file import write_text
from hushpoll_shared.cli.terminal import emit, json_option, progress, reports_errors, with_options
from hushpoll_shared.drafts.manifest import Manifest, load_manifest
from hushpoll_shared.reading.text_files import read_text
from hushpoll_shared.survey.terms import IMMEDIATE, INVITED

_MOST_TOKENS = 10_000


_FILE = click.Path(dir_okay=False, path_type=Path)
_THERE = click.Path(exists=True, dir_okay=False, path_type=Path)

simulate_options = with_options(
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


class SimulationOptions(SimpleNamespace):
    """The values of the options by their names; see the command's help."""

    @property
    def count(self) -> int:
        """Respondents to draw."""
        drawn: int = self.respondents or 1000
        return drawn

    @property
    def noise_seed(self) -> int | None:
        """The seed of the noise, if it is to be repeatable."""
        seed: int | None = self.seed if self.bulk or self.seeded_noise else None
        return seed

    def check(self) -> None:
        """Refuse options that do not go together, naming them, as wrong usage."""
        for first, second, words in _NOT_TOGETHER:
            if self._gives(first) and self._gives(second):
                raise click.UsageError(words)
        for option, needs, words in _NEEDS:
            if self._gives(option) and not self._gives(needs):
                raise click.UsageError(words.format(value=getattr(self, option)))
        if not self.dry_run and self.to_file is None:
            required_url(self.url)

    def _gives(self, option: str) -> bool:
        """Return whether an option says something else than its default."""
        value = getattr(self, option)
        return value is not None and value is not False and value not in ((), Arrivals.AT_ONCE)


@click.command()
@simulate_options
@reports_errors
@click.pass_context
def simulate(ctx: click.Context, /, **values: Any) -> None:
    """Play respondents: each one through the real client over HTTP, or all in bulk.

    A simulation with seeded noise (--bulk --seed, --seeded-noise) protects nobody: the seed undoes
    it. Otherwise single respondents draw their noise from the operating system, like devices do.

    Afterwards the account is compared with the server's own counts. The command ends with code 1
    if a report that should count does not, or if the two disagree.
    """
    options = SimulationOptions(**values)
    options.check()
    manifest = load_manifest(options.manifest_file)
    fleet = _fleet(options, manifest)
    account = Account(len(fleet))
    if fleet.noise_seed is not None and not options.dry_run:
        click.echo("The noise is seeded: this simulation is repeatable, not private.", err=True)
    if options.to_file is not None:
        with progress("respondents", len(fleet)) as advance:
            written = write_reports(options.to_file, fleet, bulk=options.bulk, progress=advance)
        digest = fleet.published.digest
        facts = {"respondents": written, "file": str(options.to_file), "digest": digest}
        emit(facts, f"{written} reports are in {options.to_file}", as_json=options.as_json)
        return
    if options.url is None or options.dry_run:
        words = f"{len(fleet)} respondents are ready; nothing sent"
        emit(account.to_dict(), words, as_json=options.as_json)
        return
    # A wrong address shows within seconds; only a simulation that has begun waits like a device.
    with short_patience(options.url, options.token) as first:
        fleet = replace(fleet, published=_published(first, manifest))
    with AnalystClient(options.url, options.token) as analyst:
        if not options.bulk:  # a token survey refuses batches, so they need no tokens
            tokens = _tokens(analyst, fleet.published, len(fleet), options.token_file)
            fleet = replace(fleet, tokens=tokens)
        before = _before(analyst, fleet.published, options)
        with _reported(
            account, analyst, fleet.published, before, as_json=options.as_json
        ) as agrees:
            _play(options, options.url, analyst, fleet, account)
    if not account.complete or not agrees():
        ctx.exit(1)


def _play(
    options: SimulationOptions, url: str, analyst: AnalystClient, fleet: Fleet, account: Account
) -> None:
    with progress("respondents", len(fleet)) as advance:
        if options.dask is not None:
            play_on_cluster(
                options.dask,
                (url, options.token),
                fleet,
                account,
                concurrency=options.concurrency,
                bulk=options.bulk,
                progress=advance,
            )
        elif options.bulk:
            play_bulk(analyst, fleet, account, progress=advance)
        else:
            play(url, fleet, account, concurrency=options.concurrency, progress=advance)


def _fleet(options: SimulationOptions, manifest: Manifest) -> Fleet:
    respondents = _respondents(options, manifest)
    published = manifest.resolve()
    plan = FleetPlan(
        arrivals=Arrivals(options.arrivals),
        duration=options.duration or 0.0,
        shares=parse_shares(options.misbehave),
        offline_seconds=options.offline_seconds,
        targets=targets_of(published, options.target),
        seed=options.seed,
    )
    return Fleet(
        published=published, respondents=respondents, plan=plan, noise_seed=options.noise_seed
    )


def _respondents(options: SimulationOptions, manifest: Manifest) -> SimulatedRespondents:
    population = None
    if options.data is not None:
        respondents = from_file(options.data, manifest, options.ignore, options.bad_rows)
    elif options.answers_from is not None:
        respondents = from_function(manifest, options.answers_from, options.count, options.seed)
    else:
        population, respondents = from_population(manifest, options.count, options.seed)
    if options.write_answers is not None:
        respondents.write_csv(options.write_answers)
    if options.write_truth is not None:
        truth = marginals(respondents, population)
        write_text(options.write_truth, json.dumps(truth, indent=2) + "\n")
    return respondents


def _published(analyst: AnalystClient, manifest: Manifest) -> Published:
    if manifest.submission == INVITED:
        raise refusal_of("submission")(
            "is invited, and a fleet redeems no invitations; try the survey out with submission: "
            "token, which takes as many reports in the same form"
        )
    resolved = manifest.resolve()
    offered = analyst.show(manifest.name, manifest.version)
    try:
        check_pin(offered, survey=manifest.name, digest=resolved.digest, known=resolved)
    except ManifestRefused as error:
        raise click.ClickException(str(error)) from None
    return offered


def _tokens(
    analyst: AnalystClient, published: Published, count: int, file: Path | None
) -> list[str] | None:
    if published.submission != "token":
        if file is not None:
            raise InvalidParameter(
                f"--tokens is {str(file)!r}, and survey {published.name!r} takes no tokens; leave "
                "the option out",
                field="tokens",
            )
        return None
    if file is not None:
        tokens = read_text(
            file, field="tokens", remedy="give one token per line, as text in UTF-8"
        ).split()
        if len(tokens) < count:
            raise InvalidParameter(
                f"{file} has {len(tokens)} tokens for {count} respondents; give one for each",
                field="tokens",
            )
        return tokens
    parts = [min(_MOST_TOKENS, count - start) for start in range(0, count, _MOST_TOKENS)]
    return [token for part in parts for token in analyst.mint_tokens(published.name, part)]


def _before(
    analyst: AnalystClient, published: Published, options: SimulationOptions
) -> ServerCounts | None:
    if options.token is None:
        click.echo("Without --token the server's own counts are not compared.", err=True)
        return None
    if published.release != IMMEDIATE:
        click.echo(
            f"{published.name} declares release: {published.release}, so the server's own counts "
            "are not compared; a survey for trials declares release: immediate.",
            err=True,
        )
        return None
    return ServerCounts.now(analyst, published)


@contextmanager
def _reported(
    account: Account,
    analyst: AnalystClient,
    published: Published,
    before: ServerCounts | None,
    *,
    as_json: bool,
) -> Iterator[Any]:
    # The account is owed for a simulation that fails or is interrupted, too.
    agreed = [True]
    finished = False
    try:
        yield lambda: agreed[0]
        finished = True
    finally:
        document, words = account.to_dict(), str(account)
        if before is not None and finished:
            comparison = reconcile(analyst, published, before, account)
            agreed[0] = not comparison.differences
            document["server"] = comparison.to_dict()
            words = f"{words}\n{comparison}"
        emit(document, words, as_json=as_json)
