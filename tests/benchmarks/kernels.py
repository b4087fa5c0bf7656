"""Counting supports, and perturbing and encoding Adult, against the row-by-row peers."""

from __future__ import annotations

import statistics
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmarks.adult import SENSITIVE, load_codes
from benchmarks.harness import REPEATS, Figure, against, alternate, announced, seconds
from benchmarks.rowwise import encoder
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.kernels import indicators, perturb, support_counts
from hushpoll_shared.survey.randomization.budget import split_budget


def counting(scale: float) -> list[Figure]:
    """Support counts of BLH and OLH at k = 74, epsilon = 1, per report."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    k, ours_n, peer_n = 74, int(400_000 * scale), max(50, int(2_000 * scale))
    rng = np.random.default_rng(0)
    figures = []
    for protocol in ("BLH", "OLH"):
        with announced(f"support counts, {protocol}"):
            oracle = create(protocol, k=k, epsilon="1.0")
            records = perturb(oracle, rng.integers(0, k, ours_n), rng)
            support_counts(oracle, records[:100])  # compiled before it is timed
            optimal = protocol == "OLH"
            reports = [LH_Client(int(v), k, 1.0, optimal) for v in rng.integers(0, k, peer_n)]
            ours, peer = alternate(
                lambda oracle=oracle, records=records: support_counts(oracle, records),
                lambda reports=reports, optimal=optimal: LH_Aggregator_MI(reports, k, 1.0, optimal),
            )
        figures.append(
            against(
                f"support counting, {protocol}, k=74, epsilon=1",
                unit="µs/report",
                ours=ours / ours_n * 1e6,
                peer=peer / peer_n * 1e6,
                peer_name="multi-freq-ldpy aggregator",
                goal=200,
            )
        )
    figures.extend(_pure_ldp(k, ours_n, peer_n))
    return figures


def _pure_ldp(k: int, ours_n: int, peer_n: int) -> list[Figure]:
    try:
        from pure_ldp.frequency_oracles.local_hashing.lh_client import LHClient
        from pure_ldp.frequency_oracles.local_hashing.lh_server import LHServer
    except ImportError as error:
        print(f"pure-LDP cannot be imported ({error}); its comparison is left out")
        return []
    with announced("support counts, OLH, against pure-LDP"):
        client = LHClient(1.0, k, use_olh=True)
        reports = [client.privatise(v % k + 1) for v in range(peer_n)]
        rng = np.random.default_rng(0)
        oracle = create("OLH", k=k, epsilon="1.0")
        records = perturb(oracle, rng.integers(0, k, ours_n), rng)

        def peer_count() -> None:
            server = LHServer(1.0, k, use_olh=True)
            for report in reports:
                server.aggregate(report)

        ours, peer = alternate(lambda: support_counts(oracle, records), peer_count)
    return [
        against(
            "support counting, OLH, k=74, epsilon=1",
            unit="µs/report",
            ours=ours / ours_n * 1e6,
            peer=peer / peer_n * 1e6,
            peer_name="pure-LDP server",
            goal=200,
        )
    ]


def encoding(data: Path, scale: float) -> list[Figure]:
    """Perturb and encode the training part of Adult: mean cost a respondent of the protocols."""
    codes = load_codes(data / "adult_26k.csv")
    rows = int(len(codes) * 0.8)
    domains = {name: int(codes[name].max()) + 1 for name in SENSITIVE}
    parts = split_budget(Decimal(4), domains, "k-based")
    values = {name: codes[name].to_numpy(np.int64)[:rows] for name in SENSITIVE}
    peer_rows = max(20, int(400 * scale))
    sample = {name: values[name][:peer_rows].tolist() for name in SENSITIVE}

    ours_cost, peer_cost, figures = [], [], []
    for protocol in PROTOCOLS:
        with announced(f"perturb and encode Adult, {protocol}"):
            oracles = {
                name: create(protocol, k=k, epsilon=parts[name]) for name, k in domains.items()
            }
            peers = {name: encoder(protocol, k, float(parts[name])) for name, k in domains.items()}

            def ours(oracles: dict = oracles) -> None:
                rng = np.random.default_rng(1)
                for name, oracle in oracles.items():
                    indicators(oracle, perturb(oracle, values[name], rng))

            def peer(peers: dict = peers) -> None:
                for name, encode in peers.items():
                    np.array([encode(v) for v in sample[name]])

            ours(), peer()  # both compiled before they are timed
            pairs = [(seconds(ours), seconds(peer)) for _ in range(REPEATS)]
        ours_cost.append(statistics.median(a for a, _ in pairs) / rows * 1e6)
        peer_cost.append(statistics.median(b for _, b in pairs) / peer_rows * 1e6)
        print(f"  {protocol}: {ours_cost[-1]:.3f} against {peer_cost[-1]:.1f} µs/respondent")
    figures.append(
        against(
            "perturb and encode Adult's training part, epsilon 4, k-based, mean of 7 protocols",
            unit="µs/respondent",
            ours=statistics.mean(ours_cost),
            peer=statistics.mean(peer_cost),
            peer_name="row by row, multi-freq-ldpy",
            goal=100,
        )
    )
    return figures
