"""``hushpoll simulate``: play respondents through the real client, in bulk, or into a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hushpoll_client import InvalidParameter, ManifestRefused, Published
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import analyst as short_patience
from hushpoll_client.device.consent import check_pin
from hushpoll_fleet.behaviour.plan import Arrivals, FleetPlan, parse_shares
from hushpoll_fleet.behaviour.poisoning import targets_of
from hushpoll_fleet.cli.simulate_options import Chosen, simulate_options
from hushpoll_fleet.population.respondents import from_file, from_function, from_population
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents, marginals
from hushpoll_fleet.sending.account import Account, ServerCounts, reconcile
from hushpoll_fleet.sending.bulk import play_bulk
from hushpoll_fleet.sending.cluster import play_on_cluster
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_fleet.sending.offline import write_reports
from hushpoll_fleet.sending.wire import play
from hushpoll_shared.cli.terminal import emit, progress, reports_errors
from hushpoll_shared.drafts.manifest import Manifest, load_manifest
from hushpoll_shared.reading.text_files import read_text
from hushpoll_shared.survey.terms import IMMEDIATE, INVITED

_MOST_TOKENS = 10_000


@click.command()
@simulate_options
@reports_errors
@click.pass_context
def simulate(ctx: click.Context, /, **given: Any) -> None:
    """Play respondents: each one through the real client over HTTP, or all in bulk.

    A simulation with seeded noise (--bulk --seed, --seeded-noise) protects nobody: the seed undoes
    it. Otherwise single respondents draw their noise from the operating system, like devices do.

    Afterwards the account is compared with the server's own counts. The command ends with code 1
    if a report that should count does not, or if the two disagree.
    """
    chosen = Chosen(**given)
    chosen.check()
    manifest = load_manifest(chosen.manifest_file)
    fleet = _fleet(chosen, manifest)
    account = Account(len(fleet))
    if fleet.noise_seed is not None and not chosen.dry_run:
        click.echo("The noise is seeded: this simulation is repeatable, not private.", err=True)
    if chosen.to_file is not None:
        with progress("respondents", len(fleet)) as advance:
            written = write_reports(chosen.to_file, fleet, bulk=chosen.bulk, progress=advance)
        digest = fleet.published.digest
        facts = {"respondents": written, "file": str(chosen.to_file), "digest": digest}
        emit(facts, f"{written} reports are in {chosen.to_file}", as_json=chosen.as_json)
        return
    if chosen.url is None or chosen.dry_run:
        words = f"{len(fleet)} respondents are ready; nothing sent"
        emit(account.to_dict(), words, as_json=chosen.as_json)
        return
    # A wrong address shows within seconds; only a simulation that has begun waits like a device.
    with short_patience(chosen.url, chosen.token) as first:
        fleet = replace(fleet, published=_published(first, manifest))
    with AnalystClient(chosen.url, chosen.token) as analyst:
        if not chosen.bulk:  # a token survey refuses batches, so they need no tokens
            tokens = _tokens(analyst, fleet.published, len(fleet), chosen.token_file)
            fleet = replace(fleet, tokens=tokens)
        before = _before(analyst, fleet.published, chosen)
        with _reported(account, analyst, fleet.published, before, as_json=chosen.as_json) as agrees:
            _play(chosen, chosen.url, analyst, fleet, account)
    if not account.complete or not agrees():
        ctx.exit(1)


def _play(chosen: Chosen, url: str, analyst: AnalystClient, fleet: Fleet, account: Account) -> None:
    with progress("respondents", len(fleet)) as advance:
        if chosen.dask is not None:
            play_on_cluster(
                chosen.dask,
                (url, chosen.token),
                fleet,
                account,
                concurrency=chosen.concurrency,
                bulk=chosen.bulk,
                progress=advance,
            )
        elif chosen.bulk:
            play_bulk(analyst, fleet, account, progress=advance)
        else:
            play(url, fleet, account, concurrency=chosen.concurrency, progress=advance)


def _fleet(chosen: Chosen, manifest: Manifest) -> Fleet:
    respondents = _respondents(chosen, manifest)
    published = manifest.resolve()
    plan = FleetPlan(
        arrivals=Arrivals(chosen.arrivals),
        duration=chosen.duration or 0.0,
        shares=parse_shares(chosen.misbehave),
        offline_seconds=chosen.offline_seconds,
        targets=targets_of(published, chosen.target),
        seed=chosen.seed,
    )
    return Fleet(
        published=published, respondents=respondents, plan=plan, noise_seed=chosen.noise_seed
    )


def _respondents(chosen: Chosen, manifest: Manifest) -> SimulatedRespondents:
    population = None
    if chosen.data is not None:
        respondents = from_file(chosen.data, manifest, chosen.ignore, chosen.bad_rows)
    elif chosen.answers_from is not None:
        respondents = from_function(manifest, chosen.answers_from, chosen.count, chosen.seed)
    else:
        population, respondents = from_population(manifest, chosen.count, chosen.seed)
    if chosen.write_answers is not None:
        respondents.write_csv(chosen.write_answers)
    if chosen.write_truth is not None:
        truth = marginals(respondents, population)
        chosen.write_truth.write_text(json.dumps(truth, indent=2) + "\n")
    return respondents


def _published(analyst: AnalystClient, manifest: Manifest) -> Published:
    if manifest.submission == INVITED:
        raise InvalidParameter(
            "submission is invited, and a fleet redeems no invitations; try the survey out with "
            "submission: token, which takes as many reports in the same form",
            field="submission",
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


def _before(analyst: AnalystClient, published: Published, chosen: Chosen) -> ServerCounts | None:
    if chosen.token is None:
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
