"""With the database in hand: what can be joined to the records, over several seals.

The attacker knows who answered when, every id, every token and which reports were sealed together,
and reads all that the database keeps: rows in physical order, PostgreSQL's transaction numbers, the
bytes of SQLite's file. Each strategy guesses, for every sealed record, whose report it is. Chance
alone gets one right in the mean, however many there are.
"""

from __future__ import annotations

import numpy as np

from chunks import unpack
from hushpoll_server.services.surveys.access import hash_token
from hushpoll_shared import Manifest
from postgres_files import stored_rows
from sample_survey import encoded, make_draft

SEALS, PER_SEAL = 4, 40
N = SEALS * PER_SEAL
# A random permutation has more than 11 fixed points once in 10^9.
MOST_MATCHES = 11
# Of 160 records, 40 are in the right one of 4 seals by chance, with a standard deviation of 4.7.
MOST_IN_SEAL = 40 + 7 * 4.7
SURVEY = {
    "submission": "token",
    "minimum_batch": 10,
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        # In clear, so that the test knows whether a joined record is the right one.
        {"name": "turn", "role": "plain", "range": [0, N - 1]},
    ],
}


def collect(site):
    """Take reports one by one, seal four times; return ids and tokens in order of arrival."""
    published = site.publish(**SURVEY)
    tokens = site.tokens(N + 5)
    ids = []
    for turn in range(N):
        report = encoded(published, {"gender": "Male", "turn": str(turn)})
        ids.append(report.id)
        assert site.send(published, report, tokens[turn]).status_code == 201
        if turn % PER_SEAL == PER_SEAL - 1:
            assert site.seal() == PER_SEAL
    return published, ids, tokens


def sealed_turns(site, published):
    """Order of arrival of each sealed record, in the order in which they are stored."""
    place = published.layout.field("turn").offset
    return np.array([record[place] for record in site.sealed_rows()])


def strategies(site, ids, database_url, tmp_path):
    """Orders of arrival that the attacker guesses for the records, in the order they stand in."""
    turn_of = {one: turn for turn, one in enumerate(ids)}
    guesses = {"arrival": list(range(N)), "arrival, newest first": list(range(N))[::-1]}
    by_seal = [ids[start : start + PER_SEAL] for start in range(0, N, PER_SEAL)]
    for name, seals in (("oldest", by_seal), ("newest", by_seal[::-1])):
        # PostgreSQL keeps waiting reports in the order of arrival, SQLite in that of their ids.
        guesses[f"arrival in each seal, {name} first"] = [
            turn_of[one] for seal in seals for one in seal
        ]
        guesses[f"ids in each seal, {name} first"] = [
            turn_of[one] for seal in seals for one in sorted(seal)
        ]
    guesses["ids"] = [turn_of[one] for one in sorted(ids)]
    with site.services.database.reading() as connection:
        if database_url.startswith("sqlite"):
            content = (tmp_path / "hushpoll.sqlite").read_bytes()
            placed = sorted(ids, key=lambda one: place(content, one))
        else:
            statement = "SELECT ids FROM sealed_ids ORDER BY xmin::text::bigint, ctid"
            placed = list(unpack(connection.exec_driver_sql(statement).scalars()))
    guesses["where the ids stand"] = [turn_of[one] for one in placed]
    guesses["where the ids stand, last first"] = guesses["where the ids stand"][::-1]
    return guesses


def place(content, report_id):
    """Where an id stands in a file; the end of a page can be in the middle of it."""
    parts = (report_id, report_id[:8], report_id[8:])
    return next(found for part in parts if (found := content.find(part)) >= 0)


def best(truth, guesses):
    """The most records, and the most of a right seal, that any strategy gets."""
    scores = {
        name: (
            int(np.sum(truth == guess)),
            int(np.sum(truth // PER_SEAL == np.array(guess) // PER_SEAL)),
        )
        for name, guess in guesses.items()
    }
    return max(s[0] for s in scores.values()), max(s[1] for s in scores.values())


def not_better_than_chance(site, published, ids, database_url, tmp_path):
    truth = sealed_turns(site, published)
    assert sorted(truth) == list(range(N))
    matches, in_seal = best(truth, strategies(site, ids, database_url, tmp_path))
    assert matches <= MOST_MATCHES
    assert in_seal <= MOST_IN_SEAL


def test_neither_ids_nor_arrival_join_to_sealed_records(site, database_url, tmp_path):
    published, ids, _ = collect(site)
    not_better_than_chance(site, published, ids, database_url, tmp_path)


def test_the_same_attacker_succeeds_where_nothing_is_shuffled(
    make_site, monkeypatch, database_url, tmp_path
):
    """The fault is planted: records in the order of arrival are all joined to their ids.

    The rows are put into that order, since a database may give an inbox in another one.
    """
    layout = Manifest.from_dict(make_draft(**SURVEY)).resolve().layout
    place = layout.field("turn").offset
    monkeypatch.setattr(
        "hushpoll_server.services.services.shuffled", lambda rows: rows[np.argsort(rows[:, place])]
    )
    site = make_site()
    published, ids, _ = collect(site)
    truth = sealed_turns(site, published)
    assert best(truth, strategies(site, ids, database_url, tmp_path)) == (N, N)


def test_the_same_attacker_tells_seals_where_each_keeps_a_segment_until_the_survey_ends(
    site, monkeypatch, database_url, tmp_path
):
    """What a large survey shows while it is open, and no longer when it is over."""
    monkeypatch.setattr("hushpoll_server.store.segments.SEGMENT_REPORTS", PER_SEAL)
    published, ids, _ = collect(site)
    truth = sealed_turns(site, published)
    matches, in_seal = best(truth, strategies(site, ids, database_url, tmp_path))
    assert in_seal == N
    # Of 4 permutations of 40, one fixed point each; more than 22 together once in 10^10.
    assert matches <= 22
    assert site.seal(last=True) == 0
    not_better_than_chance(site, published, ids, database_url, tmp_path)
    if not database_url.startswith("sqlite"):
        assert len(site.scalars("SELECT DISTINCT xmin::text FROM segments")) == 1


def test_of_a_spent_token_nothing_is_left_to_join(site, database_url, tmp_path, request):
    _, _, tokens = collect(site)
    hashes = [hash_token(token) for token in tokens]
    kept = site.scalars("SELECT hash FROM respondent_tokens")
    assert set(map(bytes, kept)) == set(hashes[N:])
    if database_url.startswith("sqlite"):
        content = b"".join(path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*"))
        assert not any(one in content for one in hashes[:N])
        assert all(one in content for one in hashes[N:])
        return
    # What is left was written by one transaction, and nothing deleted is still there.
    assert len(site.scalars("SELECT DISTINCT xmin::text FROM respondent_tokens")) == 1
    # 120 ids are in two old chunks, and the last seal's 40 in a young one.
    expected = {"respondent_tokens": 5, "inbox": 0, "segments": 1}
    expected |= {"sealed_ids": 3, "aggregates": 1}
    for table, rows in expected.items():
        assert stored_rows(request.getfixturevalue("postgres"), site, table) == [0] * rows
