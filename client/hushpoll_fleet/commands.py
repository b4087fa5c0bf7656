"""``hushpoll simulate``: play respondents through the real client, or in bulk."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushpoll_client import InvalidParameter, ManifestRefused, Published
from hushpoll_client.analyst import AnalystClient
from hushpoll_client.options import analyst as hasty
from hushpoll_client.options import needed, optional_url_option, token_option
from hushpoll_client.pin import check_pin
from hushpoll_fleet.account import Account
from hushpoll_fleet.bulk import play_bulk
from hushpoll_fleet.roster import Roster
from hushpoll_fleet.source import BadRows, read_respondents
from hushpoll_fleet.truth import marginals
from hushpoll_fleet.wire import LARGEST_CONCURRENCY, WireOptions, play
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.manifest import Manifest, load_manifest
from hushpoll_shared.terminal import emit, json_option, progress, reports_errors

if TYPE_CHECKING:
    from hushpoll_fleet.population import Population

_FILE = click.Path(dir_okay=False, path_type=Path)
_MOST_TOKENS = 10_000


@click.command()
@click.option(
    "--manifest",
    "manifest_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="The survey's manifest (.json, .yaml), published already.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="CSV of respondents; by default they are drawn from the manifest's population.",
)
@click.option("--respondents", type=click.IntRange(min=1), help="How many to draw. [default: 1000]")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave out a column of --data.")
@click.option("--bad-rows", type=_FILE, help="Write every bad value of --data to this CSV.")
@click.option("--write-answers", type=_FILE, help="Write the true answers to this CSV.")
@click.option(
    "--write-truth",
    type=_FILE,
    help="Write the true shares, of the population and of those drawn, to this JSON file.",
)
@click.option("--dry-run", is_flag=True, help="Draw or check the respondents, send nothing.")
@optional_url_option
@token_option
@click.option(
    "--tokens",
    "token_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Respondents' tokens, one per line, for a token survey; by default made with --token.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, LARGEST_CONCURRENCY),
    default=8,
    show_default=True,
    help="Respondents at a time.",
)
@click.option("--bulk", is_flag=True, help="Perturb with the kernels and upload in batches.")
@click.option("--seed", type=click.IntRange(min=0), help="Makes the draw, and --bulk, repeatable.")
@click.option(
    "--seeded-noise", is_flag=True, help="Make the noise of single respondents repeatable too."
)
@json_option
@reports_errors
@click.pass_context
def simulate(
    ctx: click.Context,
    manifest_file: Path,
    data: Path | None,
    respondents: int | None,
    ignore: tuple[str, ...],
    bad_rows: Path | None,
    write_answers: Path | None,
    write_truth: Path | None,
    dry_run: bool,
    url: str | None,
    token: str | None,
    token_file: Path | None,
    concurrency: int,
    bulk: bool,
    seed: int | None,
    seeded_noise: bool,
    as_json: bool,
) -> None:
    """Play respondents: each one through the real client over HTTP, or all in bulk.

    A simulation with seeded noise (--bulk --seed, --seeded-noise) protects nobody: whoever knows
    the seed can undo it. Otherwise single respondents draw their noise from the operating system,
    like devices do.

    Ends with code 1 if any respondent's report does not count in the end.
    """
    if data is not None and respondents is not None:
        raise click.UsageError("--respondents is for drawing; with --data every row is played")
    if data is None and (ignore or bad_rows is not None):
        raise click.UsageError("--ignore and --bad-rows are for --data; without it they do nothing")
    if bulk and token_file is not None:
        raise click.UsageError("--tokens is for single reports; a batch carries none")
    if seeded_noise and seed is None:
        raise click.UsageError("--seeded-noise needs --seed")
    if not dry_run:
        needed(url)
    manifest = load_manifest(manifest_file)
    if data is not None:
        population, roster = None, _checked(data, manifest, ignore, bad_rows)
    else:
        population, roster = _drawn(manifest, respondents or 1000, seed)
    if write_answers is not None:
        roster.write_csv(write_answers)
    if write_truth is not None:
        write_truth.write_text(json.dumps(marginals(roster, population), indent=2) + "\n")
    account = Account(len(roster))
    if url is None or dry_run:
        emit(
            account.to_dict(), f"{len(roster)} respondents are ready; nothing sent", as_json=as_json
        )
        return
    # A wrong address shows within seconds; only a simulation that has begun waits like a device.
    with hasty(url, token) as first:
        published = _published(first, manifest)
    with AnalystClient(url, token) as analyst:
        if seed is not None and (bulk or seeded_noise):
            click.echo("The noise is seeded: this simulation is repeatable, not private.", err=True)
        # A batch is refused by a token survey, so it needs no tokens minted for it.
        tokens = None if bulk else _tokens(analyst, published, len(roster), token_file)
        with _reported(account, as_json=as_json), progress("respondents", len(roster)) as advance:
            if bulk:
                play_bulk(analyst, published, roster, account, _rng(seed, 1), progress=advance)
            else:
                play(
                    url,
                    published,
                    roster.answers(),
                    account,
                    options=WireOptions(
                        concurrency=concurrency, noise_seed=seed if seeded_noise else None
                    ),
                    tokens=tokens,
                    progress=advance,
                )
    if not account.complete:
        ctx.exit(1)


def _checked(
    data: Path, manifest: Manifest, ignore: tuple[str, ...], bad_rows: Path | None
) -> Roster:
    try:
        roster = read_respondents(data, manifest.attributes, ignored=ignore)
    except BadRows as error:
        if bad_rows is not None:
            with bad_rows.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream)
                writer.writerow(["row", "line", "column", "value", "remedy"])
                writer.writerows(
                    [one.row, one.line, one.column, one.value, one.remedy] for one in error.values
                )
        # Its lines are a list to work through, and are kept apart.
        raise click.ClickException(str(error)) from None
    if not len(roster):
        raise InvalidParameter(
            f"{data} has a header and no rows; give one row per respondent", field="data"
        )
    return roster


def _drawn(manifest: Manifest, count: int, seed: int | None) -> tuple[Population, Roster]:
    rng = _rng(seed, 0)
    from hushpoll_fleet.population import Population

    population = Population.from_manifest(manifest)
    return population, Roster(manifest.attributes, population.sample(count, rng))


def _published(analyst: AnalystClient, manifest: Manifest) -> Published:
    resolved = manifest.resolve()
    offered = analyst.show(manifest.name, manifest.version)
    try:
        check_pin(offered, survey=manifest.name, digest=resolved.digest, known=resolved)
    except ManifestRefused as error:
        raise click.ClickException(str(error)) from None
    return offered


def _tokens(
    analyst: AnalystClient, published: Published, count: int, file: Path | None
) -> Iterator[str] | None:
    if published.submission != "token":
        if file is not None:
            raise InvalidParameter(
                f"--tokens is {str(file)!r}, and survey {published.name!r} takes no tokens; leave "
                "the option out",
                field="tokens",
            )
        return None
    if file is not None:
        try:
            tokens = file.read_text(encoding="utf-8").split()
        except UnicodeDecodeError as error:
            raise InvalidParameter(
                f"{file} is no UTF-8 text ({error.reason} at byte {error.start}); give one token "
                "per line",
                field="tokens",
            ) from None
        if len(tokens) < count:
            raise InvalidParameter(
                f"{file} has {len(tokens)} tokens for {count} respondents; give one for each",
                field="tokens",
            )
        return iter(tokens)
    parts = [min(_MOST_TOKENS, count - start) for start in range(0, count, _MOST_TOKENS)]
    return iter([token for part in parts for token in analyst.mint_tokens(published.name, part)])


@contextmanager
def _reported(account: Account, *, as_json: bool) -> Iterator[None]:
    # The account is owed for a simulation that fails or is interrupted, too.
    try:
        yield
    finally:
        emit(account.to_dict(), str(account), as_json=as_json)


def _rng(seed: int | None, stream: int) -> Any:
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "drawing respondents and simulating in bulk") from None
    return np.random.default_rng(None if seed is None else [seed, stream])
