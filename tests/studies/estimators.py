"""Which estimator has the smallest error? Ours by name beside those of other libraries.

The same support counts go to every estimator. multi-freq-ldpy has MI (clipped at 0 and divided by
the sum) and IBU (at most 10,000 steps of its update, its default). pure-LDP has the unbiased
estimate, and as normalisations the additive one (here `norm_sub`, which repeats it until no share
is negative) and the projection onto the simplex. Both libraries take p and q of the protocol here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from multi_freq_ldpy.estimators.Histogram_estimator import IBU, MI

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_protocols.kernels import perturb, support_counts
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_training.data.coded import read_codes
from studies.norm_sub import norm_sub

SEED = 2023
SURVEYS = 200
CATEGORIES = 74
RESPONDENTS = 10_000
EPSILONS = ("0.5", "1", "2", "4")
POPULATIONS = ("uniform", "Zipf", "geometric", "two-point", "half-empty")
AGES = "ages of Adult"
"""Of the people of the data set, where it is given."""
ALLOWED = 1.03
"""Ratio of the shrunk estimate's error to the best peer's that is reached; see `Row.reached`."""

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Method = Callable[[FrequencyOracle, Counts, int], Array]


def _raw(oracle: FrequencyOracle, counts: Counts, n: int) -> Array:
    return (counts / n - float(oracle.q)) / float(oracle.p - oracle.q)


def _mi(oracle: FrequencyOracle, counts: Counts, n: int) -> Array:
    return np.asarray(MI(counts.astype(np.float64), n, float(oracle.p), float(oracle.q)))


def _ibu(oracle: FrequencyOracle, counts: Counts, n: int) -> Array:
    del n
    k = len(counts)
    channel = np.full((k, k), float(oracle.q))
    np.fill_diagonal(channel, float(oracle.p))
    return np.asarray(IBU(k, channel, counts / counts.sum(), 10_000, 1e-12, "max_abs"))


PEERS: Mapping[str, Method] = {
    "MI": _mi,
    "IBU": _ibu,
    "pure-LDP": _raw,
    "pure-LDP, norm-sub": lambda oracle, counts, n: norm_sub(_raw(oracle, counts, n)),
    "pure-LDP, simplex": lambda oracle, counts, n: project_simplex(_raw(oracle, counts, n)),
}
OURS: Mapping[str, Method] = {
    "unbiased": lambda oracle, counts, n: estimate(oracle, counts, n).frequency,
    "projected": lambda oracle, counts, n: project_simplex(estimate(oracle, counts, n).frequency),
    "shrunk": lambda oracle, counts, n: shrunk(counts, n, p=oracle.p, q=oracle.q),
}
OF_RECORDS: Mapping[str, Callable[[FrequencyOracle, npt.NDArray[np.uint8]], Array]] = {
    "likelihood": maximum_likelihood,
}
"""Ours that need the records and not only the counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """One protocol, epsilon and population.

    Attributes
    ----------
    protocol, epsilon, population : str
        Which.
    best : str
        The other estimator, ours or a peer's, of least mean error here.
    error : float
        Its sum of squared errors over the categories, mean over the surveys.
    ratios : dict of str to float
        The same of each of our estimators, over `error`.
    excess : float
        Standard errors, over the paired surveys, by which the shrunk estimate's error is above
        `ALLOWED` times the best peer's; below 0 where it is below.
    """

    protocol: str
    epsilon: str
    population: str
    best: str
    error: float
    ratios: dict[str, float]
    excess: float

    @property
    def reached(self) -> bool:
        """Whether shrunk is within `ALLOWED` of the best peer, or within 2 standard errors."""
        return self.excess <= 2.0


def run_study(
    *,
    surveys: int = SURVEYS,
    seed: int = SEED,
    protocols: Sequence[str] = tuple(PROTOCOLS),
    epsilons: Sequence[str] = EPSILONS,
    ages: Array | None = None,
) -> list[Row]:
    """Return a row per protocol, epsilon and population.

    Parameters
    ----------
    surveys : int
        Of each row, at least 2; respondents and noise are drawn anew.
    seed : int
        Where the draws start.
    protocols, epsilons : sequence of str
        Which.
    ages : f64[74], optional
        People of each age, for one population more.
    """
    populations = {name: _truth(name) for name in POPULATIONS}
    if ages is not None:
        populations[AGES] = ages / ages.sum()
    rows = []
    for protocol in protocols:
        for epsilon in epsilons:
            oracle = create(protocol, k=CATEGORIES, epsilon=epsilon)
            for number, (population, truth) in enumerate(populations.items()):
                place = [
                    seed,
                    list(PROTOCOLS).index(protocol),
                    EPSILONS.index(epsilon),
                    number,
                ]
                rng = np.random.default_rng(place)
                errors: dict[str, list[float]] = {name: [] for name in (*PEERS, *OURS, *OF_RECORDS)}
                for _ in range(surveys):
                    values = rng.choice(CATEGORIES, RESPONDENTS, p=truth)
                    records = perturb(oracle, values, rng)
                    counts = support_counts(oracle, records)
                    found = {
                        name: method(oracle, counts, RESPONDENTS)
                        for name, method in (*PEERS.items(), *OURS.items())
                    } | {name: method(oracle, records) for name, method in OF_RECORDS.items()}
                    for name, shares in found.items():
                        errors[name].append(float(np.square(shares - truth).sum()))
                rows.append(_row(protocol, epsilon, population, errors))
    return rows


def _truth(population: str) -> Array:
    place = np.arange(CATEGORIES)
    shares = {
        "uniform": np.ones(CATEGORIES),
        "Zipf": 1 / (place + 1),
        "geometric": 0.9**place,
        "two-point": np.where(place < CATEGORIES // 10, 20.0, 1.0),
        "half-empty": np.where(place < CATEGORIES // 2, 1.0, 0.0),
    }[population]
    truth: Array = shares / shares.sum()
    return truth


def _row(
    protocol: str, epsilon: str, population: str, errors: Mapping[str, Sequence[float]]
) -> Row:
    peers = [name for name in errors if name != "shrunk"]
    best = min(peers, key=lambda name: float(np.mean(errors[name])))
    least = float(np.mean(errors[best]))
    differences = np.array(errors["shrunk"]) - ALLOWED * np.array(errors[best])
    spread = float(differences.std(ddof=1)) / len(differences) ** 0.5
    return Row(
        protocol,
        epsilon,
        population,
        best,
        least,
        {name: float(np.mean(errors[name])) / least for name in (*OURS, *OF_RECORDS)},
        float(differences.mean()) / spread,
    )


def ages_of(folder: Path) -> Array:
    """Return the people of each of Adult's 74 ages."""
    age = read_codes(folder / "adult_26k.csv")["age"]
    return np.bincount(age, minlength=CATEGORIES).astype(np.float64)


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown."""
    ours = (*OURS, *OF_RECORDS)
    lines = [
        f"| protocol | ε | population | best of the others | its squared error "
        f"| {' | '.join(ours)} | reached |",
        "|---|---|---|---|---" + "|---" * len(ours) + "|---|",
    ]
    lines += [
        f"| {row.protocol} | {row.epsilon} | {row.population} | {row.best} | {row.error:.3g} | "
        + " | ".join(f"{row.ratios[name]:.2f}" for name in ours)
        + f" | {'yes' if row.reached else f'no, {row.excess:.1f} standard errors above'} |"
        for row in rows
    ]
    reached = sum(row.reached for row in rows)
    return "\n".join([*lines, "", f"Reached in {reached} of {len(rows)}."])


@click.command()
@click.option("--surveys", type=click.IntRange(min=2), default=SURVEYS, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@click.option("--protocol", "protocols", multiple=True, default=tuple(PROTOCOLS), help="Repeat it.")
@click.option("--epsilon", "epsilons", multiple=True, default=EPSILONS, help="Repeat it.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder with adult_26k.csv, for the ages of Adult.",
)
@json_option
@reports_errors
def main(
    surveys: int,
    seed: int,
    protocols: tuple[str, ...],
    epsilons: tuple[str, ...],
    data: Path | None,
    as_json: bool,
) -> None:
    """Compare the errors of estimators with those of other libraries, as ratios to the best."""
    ages = None if data is None else ages_of(data)
    rows = run_study(surveys=surveys, seed=seed, protocols=protocols, epsilons=epsilons, ages=ages)
    document = {
        "surveys": surveys,
        "seed": seed,
        "rows": [{**asdict(row), "reached": row.reached} for row in rows],
    }
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
