"""Sent = accepted + duplicate + rejected + pending, to the unit, whatever was sent."""

from __future__ import annotations

import random
from collections import Counter

from hushpoll_server.store.reports import ReportStore
from hushpoll_shared.wire import reports as wire
from sample_survey import body_of, make_report
from waiting import run_together

THREADS = 6
ROUNDS = 12


class Traffic:
    """One client that sends good, repeated, conflicting, malformed, formless and stolen reports.

    What it was told is counted by outcome; reports that were never answered with one are pending.
    """

    def __init__(self, site, open_survey, token_survey, tokens, seed):
        self.sent = 0
        self.told = Counter()
        self._site = site
        self._open, self._by_token, self._tokens = open_survey, token_survey, tokens
        self._chooser = random.Random(seed)
        self._mine = []

    def run(self):
        for _ in range(ROUNDS):
            self._choose()()

    def _choose(self):
        return self._chooser.choice(
            [
                *(self._new, self._again, self._other_bytes, self._malformed, self._formless),
                *(self._token, self._batch, self._cut_batch),
            ]
        )

    def _one(self, published, report, token=None):
        self._send(published, body_of(published, report), token)

    def _send(self, published, body, token=None):
        self.sent += 1
        answer = self._site.send_body(body, token, name=published.name)
        if answer.status_code in (200, 201):
            self.told[answer.json["status"]] += 1
        elif answer.status_code == 503:
            self.told["pending"] += 1
        else:
            self.told[answer.json["code"]] += 1

    def _new(self):
        report = make_report(self._open)
        self._mine.append(report)
        self._one(self._open, report)

    def _again(self):
        if self._mine:
            self._one(self._open, self._chooser.choice(self._mine))

    def _other_bytes(self):
        if self._mine:
            there = self._chooser.choice(self._mine)
            other = make_report(self._open).record
            self._one(self._open, wire.Report(there.id, other))

    def _malformed(self):
        report = make_report(self._open)
        self._one(self._open, wire.Report(report.id, b"\xff" * len(report.record)))

    def _formless(self):
        body = wire.encode_report_json(self._open.digest, make_report(self._open))
        self._send(self._open, body | {"id": body["id"][:-1] + "!"})

    def _token(self):
        # Each token is tried by several clients.
        token = self._chooser.choice([None, "A" * 43, *self._tokens])
        self._one(self._by_token, make_report(self._by_token), token)

    def _cut_batch(self):
        reports = [make_report(self._open) for _ in range(self._chooser.randint(1, 30))]
        self.sent += len(reports)
        cut = wire.pack_reports(self._open.digest, reports)[:-1]
        answer = self._site.send_bytes(cut)
        self.told[answer.json["code"]] += len(reports)

    def _batch(self):
        reports = [make_report(self._open) for _ in range(self._chooser.randint(1, 30))]
        sent = [*reports, reports[0], *self._mine[:2]]
        sent.append(wire.Report(wire.new_report_id(), b"\xff" * len(reports[0].record)))
        self._mine += reports[:3]
        self._chooser.shuffle(sent)
        self.sent += len(sent)
        answer = self._site.send_batch(self._open, sent)
        if answer.status_code == 503:
            self.told["pending"] += len(sent)
            return
        self.told["accepted"] += answer.json["accepted"]
        self.told["duplicate"] += answer.json["duplicate"]
        self.told.update(one["code"] for one in answer.json["rejected"])


def test_every_report_sent_is_accounted_for(make_site, monkeypatch):
    take, calls = ReportStore.insert, []

    def sometimes(store, uploads):
        calls.append(len(uploads))
        # Twice in a row: a group that fails is tried again report by report, and one fails again.
        if len(calls) % 6 in (4, 5):
            raise OSError("disk full")
        return take(store, uploads)

    monkeypatch.setattr(ReportStore, "insert", sometimes)
    site = make_site(SEAL_AT=4)
    open_survey = site.publish()
    token_survey = site.publish(name="by-token", submission="token")
    tokens = site.tokens(5, name="by-token")
    clients = [Traffic(site, open_survey, token_survey, tokens, seed) for seed in range(THREADS)]
    run_together(*(client.run for client in clients))
    told = sum((client.told for client in clients), Counter())
    sent = sum(client.sent for client in clients)
    assert sent == sum(told.values())
    assert {
        *("accepted", "duplicate", "malformed-report", "unauthorized", "invalid-request"),
        "pending",
    } <= told.keys()
    counted = Counter()
    for published in (open_survey, token_survey):
        counts = site.counts(published)
        counted["accepted"] += counts["accepted"]
        counted["duplicate"] += counts["duplicate"]
        for reason, number in counts["rejected"].items():
            counted[reason.partition(":")[0]] += number
        assert counts["accepted"] == counts["inbox"] + counts["sealed"]
    pending = told.pop("pending")
    assert counted == told
    assert sum(counted.values()) + pending == sent


def test_a_batch_that_is_refused_as_a_whole_counts_as_its_reports(site):
    """Guards: it counted as one."""
    published = site.publish()
    known = site.fill(published, 5)
    site.close()
    batch = known + [make_report(published) for _ in range(40)]
    for reports, code in ((known, None), (batch, "survey-closed"), ([], "survey-closed")):
        answer = site.send_batch(published, reports)
        assert answer.json.get("code") == code
    counts = site.counts(published)
    assert (counts["accepted"], counts["duplicate"], counts["rejected"]) == (
        5,
        5,
        {"survey-closed": 45},
    )
