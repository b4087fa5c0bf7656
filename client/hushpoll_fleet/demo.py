"""What `hushpoll demo` tells: one survey, from publishing to fairness, by real commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from hushpoll_fleet.population import Population
from hushpoll_fleet.processes import Server, run_json
from hushpoll_shared.manifest import Manifest, load_manifest

SHOWN: Final = "health"
"""Attribute of the sample survey whose categories are compared with the truth."""

_PANEL: Final = 3000
_SAMPLE: Final = "work-and-health.yaml"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One category's truth beside its estimate.

    Attributes
    ----------
    category : str
        The category.
    truth : float
        Its share of the population, exact, in [0, 1].
    estimate, lower, upper : float
        Unbiased estimate and 95 % interval.
    """

    category: str
    truth: float
    estimate: float
    lower: float
    upper: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.lower <= self.truth <= self.upper


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo found.

    Attributes
    ----------
    account : mapping
        The simulation's account.
    comparisons : mapping of str to tuple of Comparison
        Per randomised attribute, in manifest order.
    training : mapping
        The record of ``hushpoll train``.
    """

    account: Mapping[str, Any]
    comparisons: Mapping[str, tuple[Comparison, ...]]
    training: Mapping[str, Any]


def sample_manifest() -> str:
    """Return the text of the sample survey that ships with the package."""
    return files("hushpoll_fleet").joinpath("samples", _SAMPLE).read_text(encoding="utf-8")


def tell(directory: Path, *, respondents: int, seed: int, say: Callable[[str], None]) -> Outcome:
    """Play the whole survey.

    Parameters
    ----------
    directory : Path
        An empty directory for the database and all files.
    respondents : int
        Respondents drawn from the sample's population.
    seed : int
        Of the draw and of the training; the respondents' noise comes from the operating system.
    say : callable
        Told each command before it runs, and what it means.

    Raises
    ------
    CommandFailed
        If a command fails; its message has gone to standard error.
    """
    file = directory / _SAMPLE
    file.write_text(sample_manifest(), encoding="utf-8")
    manifest = load_manifest(file)
    server = Server(directory, options=("--log-level", "warning"))
    say("A collecting server with a fresh database, on this machine only:")
    say(_shown(server.arguments, background=True))
    with server:
        environment = {"HUSHPOLL_URL": server.url, "HUSHPOLL_TOKEN": server.token}
        say(f"$ export HUSHPOLL_URL={server.url}")
        say(f"$ export HUSHPOLL_TOKEN=$(cat {shlex.quote(str(directory / 'admin-token'))})")

        def run(meaning: str, *arguments: str) -> dict[str, Any]:
            say(f"\n{meaning}")
            say(_shown((*arguments, "--json")))
            return run_json(arguments, environment)

        return _play(run, manifest, directory, str(respondents), seed, say)


def _play(
    run: Callable[..., dict[str, Any]],
    manifest: Manifest,
    directory: Path,
    respondents: str,
    seed: int,
    say: Callable[[str], None],
) -> Outcome:
    name, file = manifest.name, str(directory / _SAMPLE)
    answers, panel = str(directory / "answers.csv"), str(directory / "panel.csv")
    records, model = str(directory / "records.bin"), str(directory / "model")
    published = run(
        "Publish the survey. Its digest is what devices pin:", "survey", "publish", file
    )
    say(f"  digest {published['digest']}, {len(published['warnings'])} warnings")
    account = run(
        f"Play {respondents} respondents: each pins the survey, randomises its answers and sends "
        "them.",
        *("simulate", "--manifest", file, "--respondents", respondents, "--seed", str(seed)),
        *("--write-answers", answers),
    )
    say(
        f"  {account['accepted']} of {account['sent']} reports accepted, "
        f"{account['reports_per_second']:.0f} per second"
    )
    estimates = run("Estimate every answer's share from the randomised records:", "estimate", name)
    run("Take the records out for training:", "export", name, "--out", records)
    run(
        f"Draw {_PANEL} other people who agreed to give their answers in clear, to test on:",
        *("simulate", "--manifest", file, "--respondents", str(_PANEL), "--seed", str(seed + 1)),
        *("--dry-run", "--write-answers", panel),
    )
    training = run(
        "Train on the randomised records, and for comparison on the same people's true answers, "
        "which only a simulation has:",
        *("train", "--records", records, "--panel", panel, "--baseline", answers),
        *("--out", model, "--seed", str(seed)),
    )
    return Outcome(account, _compare(manifest, estimates), training)


def _compare(manifest: Manifest, estimates: Mapping[str, Any]) -> dict[str, tuple[Comparison, ...]]:
    population = Population.from_manifest(manifest)
    perturbed = {attribute.name for attribute in manifest.attributes if attribute.perturbed}
    found: dict[str, tuple[Comparison, ...]] = {}
    for attribute in estimates["attributes"]:
        truth = population.joint(attribute["name"])
        if attribute["name"] in perturbed and truth is not None:
            found[attribute["name"]] = tuple(
                Comparison(row["category"], share, row["frequency"], row["lower"], row["upper"])
                for row, share in zip(attribute["categories"], truth.tolist(), strict=True)
            )
    return found


def _shown(arguments: Sequence[str], *, background: bool = False) -> str:
    return f"$ hushpoll {shlex.join(arguments)}{' &' if background else ''}"
