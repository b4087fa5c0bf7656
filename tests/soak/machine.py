"""The walk: steps drawn from a seed, done to a server with two ingest processes on PostgreSQL.

Each step draws from a generator of its own, made of the seed and the step's number, and chooses
among what was sent before, whatever became of that. So a seed takes the same steps again, although
seals and commits fall between them as the machine pleases.
"""

from __future__ import annotations

import csv
import http.client
import io
import json
import os
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import psutil

from hushpoll_server.services.people.users import Users
from hushpoll_server.store.database import Database
from hushpoll_server.store.users import UserStore
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.spelling.clock import SystemClock
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.invitations import encode_redemption
from hushpoll_shared.wire.records_file import read_records
from hushpoll_shared.wire.withdrawals import encode_withdrawal_json, id_of
from sample_survey import SURVEYS, bearer, encoded
from served import JSON, Process
from soak.redemption import Redemption
from soak.state import DELETED, NEVER, STORED, UNSURE, Sent, Survey, check, check_groups, find
from waiting import wait_until

OPTIONS: Final = (
    *("--workers", "2", "--seal-idle-seconds", "0.5", "--log-level", "error"),
    *("--invitation-seed", "5e" * 32),
)
CLOCK: Final = str(Path(__file__).with_name("clock"))
DAY: Final = 86_400
MOST_OPEN: Final = 4
COMMUNES: Final = ("Alder", "Birch", "Cedar", "Hamlet")
ATTRIBUTES: Final = [
    {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
    {"name": "age", "role": "sensitive", "protocol": "OUE", "range": [1, 9]},
    {"name": "commune", "role": "plain", "categories": list(COMMUNES)},
]
PASSWORD: Final = "correct horse battery"
SMALLEST_GROUP: Final = 10  # the server's default
# By process: how far memory and descriptors may grow over what they were once it was warm.
WARM_STEPS: Final = 15
# The web process loads the analysis of records with the first result that is asked for.
MORE_BYTES: Final = {"ingest": 48 * 2**20, "web": 256 * 2**20}
MORE_DESCRIPTORS: Final = 64

Step = Callable[["Soak", random.Random], None]


class Soak:
    """One server, its database, and the walk over them.

    Parameters
    ----------
    directory : Path
        Where the clock and the server's errors are.
    url : str
        An empty PostgreSQL database.
    seed : int
        What the steps are drawn by.
    say : callable
        Told each step before it is done.
    """

    def __init__(
        self, directory: Path, url: str, *, seed: int, say: Callable[[str], object] = print
    ) -> None:
        self._directory, self._url, self._seed, self._say = directory, url, seed, say
        self._ahead = directory / "ahead"
        self._move(0.0)
        self._environment = {
            **os.environ,
            "SOAK_AHEAD": str(self._ahead),
            "PYTHONPATH": os.pathsep.join(filter(None, [CLOCK, os.environ.get("PYTHONPATH")])),
        }
        self.surveys: list[Survey] = []
        self.done: Counter[str] = Counter()
        self.number = 0
        self._has_reader = False
        self._reader: str | None = None
        # How often a reader was shown groups in clear.
        self.looks = 0
        # By process id: steps since it was first seen, and its bytes and descriptors once warm.
        self._use: dict[int, tuple[int, int, int]] = {}
        self.grown: Counter[str] = Counter()
        self.descriptors: Counter[str] = Counter()
        self.server = self._start()
        self._database = Database(url, pool_size=2)

    def close(self) -> None:
        """Kill the server."""
        self.server.kill()
        self._database.close()

    def step(self) -> None:
        """Do the next step, and check everything."""
        self.number += 1
        rng = random.Random(f"{self._seed}-{self.number}")
        name = rng.choices(list(STEPS), [weight for _, weight in STEPS.values()])[0]
        self._say(f"step {self.number}: {name}")
        STEPS[name][0](self, rng)
        self.done[name] += 1
        self.check()

    def check(self) -> None:
        """Hold the database, the API and the processes against what was sent."""
        for survey in self.surveys:
            self._settle(survey)
            found = find(self._database, survey)
            check(survey, found)
            self._check_account(survey)
        self._check_processes()

    # Steps

    def publish(self, rng: random.Random) -> None:
        if len(self._open()) >= MOST_OPEN:
            return
        release = rng.choice(["daily", "weekly", "end", "immediate"])
        minimum = rng.randint(3, 9)
        submission = rng.choice(["open", "open", "token", "invited"])
        draft = {
            "name": f"survey-{len(self.surveys)}",
            "version": 1,
            "title": "Soaked",
            "epsilon": "4",
            "protocol": "GRR",
            "minimum_batch": minimum,
            "release": release,
            "attributes": ATTRIBUTES,
            "submission": submission,
        }
        document = self.server.post(f"{SURVEYS}?allow_weak=true", draft)
        survey = Survey(Published.from_json(document["manifest"]), release, minimum)
        if submission == "token":
            tokens = self.server.post(f"{SURVEYS}/{survey.name}/tokens", {"count": 100})
            survey.tokens = tokens["tokens"]
        self.surveys.append(survey)

    def answer(self, rng: random.Random) -> None:
        survey = self._choose(rng)
        if survey is None:
            return
        made = [self._make(survey, rng) for _ in range(rng.randint(1, 12))]
        if rng.random() < 0.3 and survey.published.submission == "open":
            self._send_together(survey, made)
            return
        for one in made:
            status, answer = self._send(survey, one)
            assert status == 201, (status, answer)
        survey.sent += made

    def crowd(self, rng: random.Random) -> None:
        """As many reports at once as make groups in clear large enough to be shown."""
        surveys = [one for one in self._open() if one.published.submission == "open"]
        if surveys:
            survey = rng.choice(surveys)
            made = [self._make(survey, rng) for _ in range(rng.randint(30, 90))]
            self._send_together(survey, made)

    def retry(self, rng: random.Random) -> None:
        """The same bytes, also of withdrawn and sealed reports and of closed surveys."""
        for survey, one in self._some(rng, 6):
            status, answer = self._send(survey, one)
            assert status == 200, (status, answer)
            assert json.loads(answer)["status"] == "duplicate"

    def replay(self, rng: random.Random) -> None:
        """Other bytes under a known id."""
        for survey, one in self._some(rng, 3):
            # Its token is that of the first report; a closed survey would give it no new one.
            other = self._make(survey, rng, token=False)
            twin = Sent(wire.Report(one.report.id, other.report.record), b"", "", one.token)
            if twin.report.record == one.report.record:
                continue
            status, answer = self._send(survey, twin)
            assert status in (200, 409), (status, answer)

    def withdraw(self, rng: random.Random) -> None:
        for survey, one in self._some(rng, 3):
            self._withdraw(survey, one)

    def withdraw_first(self, rng: random.Random) -> None:
        """A withdrawal that overtakes its report."""
        survey = self._choose(rng)
        if survey is None:
            return
        one = self._make(survey, rng)
        status, answer = self._ask_back(survey, one)
        assert (status, json.loads(answer)) == (200, {"status": "not-here"})
        one.state = NEVER
        survey.sent.append(one)
        status, answer = self._send(survey, one)
        assert (status, json.loads(answer)) == (200, {"status": "duplicate"})
        if one.token is not None:
            survey.tokens.append(one.token)

    def race(self, rng: random.Random) -> None:
        """A report, its retry and its withdrawal at once, over connections of their own."""
        survey = self._choose(rng)
        if survey is None:
            return
        for _ in range(3):
            one = self._make(survey, rng)
            acts = [self._send, self._ask_back, self._send]
            rng.shuffle(acts)
            with ThreadPoolExecutor(len(acts)) as threads:
                futures = [threads.submit(act, survey, one) for act in acts]
            said = [future.result() for future in futures]
            # A token's second report of the same id may have to wait for the first, but is known.
            assert all(status in (200, 201) for status, _ in said), said
            words = [json.loads(body)["status"] for _, body in said]
            one.state = DELETED if "deleted" in words else NEVER
            if one.state == NEVER and "accepted" in words:
                # It was stored, and sealed before its withdrawal.
                one.state = STORED
            if one.state == NEVER and one.token is not None:
                survey.tokens.append(one.token)
            survey.sent.append(one)

    def redeem(self, rng: random.Random) -> None:
        """Redeem invitations, once by two devices at once; ask again, steal one, spend a token."""
        invited = [one for one in self._open() if one.published.submission == INVITED]
        if not invited:
            return
        survey = rng.choice(invited)
        for invitation in self._invite(survey, rng.randint(1, 4)):
            own, other = Redemption.drawn(invitation, rng), Redemption.drawn(invitation, rng)
            if rng.random() < 0.5:
                with ThreadPoolExecutor(2) as threads:
                    said = list(threads.map(lambda one: self._ask(survey, one), (own, other)))
                assert sorted(status for status, _ in said) == [200, 409], said
                if said[1][0] == 200:
                    own, other = other, own
            elif rng.random() < 0.5:
                self._lose(survey, own)
            # The answer may have been lost: the same element is evaluated again, and no other.
            survey.tokens.append(self._redeemed(survey, own))
            assert self._redeemed(survey, own) == survey.tokens[-1], "another evaluation"
            status, answer = self._ask(survey, other)
            assert (status, json.loads(answer)["code"]) == (409, "invitation-redeemed")
        stranger = Redemption.drawn(b64encode(rng.randbytes(32)), rng)
        assert self._ask(survey, stranger)[0] == 401
        one, two = self._make(survey, rng), self._make(survey, rng, token=False)
        two.token = one.token
        with ThreadPoolExecutor(2) as threads:
            codes = list(threads.map(lambda sent: self._send(survey, sent)[0], (one, two)))
        assert sorted(codes) == [201, 409], codes
        survey.sent.append(one if codes[0] == 201 else two)
        self._check_forgeries(survey, one, rng)

    def hostile(self, rng: random.Random) -> None:
        """Requests of no device; each is refused, and nothing changes."""
        survey = self._choose(rng)
        if survey is None:
            return
        digest, secret = survey.published.digest, rng.randbytes(32)
        good = encode_withdrawal_json(digest, secret)
        known = rng.choice(survey.sent).report.id if survey.sent else rng.randbytes(16)
        report = wire.encode_report_json(digest, self._make(survey, rng, token=False).report)
        bad: list[tuple[str, bytes, int]] = [
            ("withdrawals", b"", 400),
            ("withdrawals", b"{" * 3000, 400),
            ("withdrawals", json.dumps({**good, "id": "x"}).encode(), 422),
            ("withdrawals", json.dumps({**good, "secret": known.hex()}).encode(), 422),
            ("withdrawals", json.dumps({**good, "digest": "0" * 64}).encode(), 404),
            ("withdrawals", b" " * 5000, 413),
            ("reports", json.dumps({**report, "record": "AA"}).encode(), 422),
            ("reports", json.dumps({**report, "digest": "1" * 64}).encode(), 404),
            ("reports", b"\xff", 400),
        ]
        rng.shuffle(bad)
        for where, body, wanted in bad[:5]:
            status, answer = self.server.request(self._path(survey, where), body, **JSON)
            assert status == wanted, (where, body[:40], status, answer)
        # Nor does an id, instead of a secret, take anything back.
        forged = encode_withdrawal_json(digest, known + known)
        status, answer = self.server.request(
            self._path(survey, "withdrawals"), json.dumps(forged).encode(), **JSON
        )
        assert (status, json.loads(answer)) == (200, {"status": "not-here"})
        self._note_guess(survey, known + known)
        # A client that says that it sends more than it does, and goes.
        with self.server.connect() as connection:
            head = f"POST {self._path(survey, 'reports')} HTTP/1.1\r\nHost: x\r\n"
            connection.sendall((head + "Content-Length: 500\r\n\r\n{").encode())

    def end(self, rng: random.Random) -> None:
        """Close a survey, with or without a period of grace."""
        survey = self._choose(rng)
        if survey is None or len(self._open()) < 2:
            return
        grace = rng.choice([0, 0, 3600])
        self.server.post(f"{SURVEYS}/{survey.name}/versions/1/close", {"grace_seconds": grace})
        survey.closed = True

    def delete(self, rng: random.Random) -> None:
        """Delete the records of a survey that is over."""
        over = [one for one in self.surveys if one.closed and not one.deleted]
        if not over:
            return
        survey = rng.choice(over)
        path = f"{SURVEYS}/{survey.name}/versions/1/records"
        status, answer = self._delete(path)
        assert status in (200, 409), answer
        survey.deleted = status == 200

    def day(self, rng: random.Random) -> None:
        """Let a day pass, or several."""
        self._pass(DAY * rng.randint(1, 3))

    def week(self, rng: random.Random) -> None:
        self._pass(7 * DAY + rng.randrange(DAY))

    def seal(self, rng: random.Random) -> None:
        """Wait until a version that holds its minimum batch is sealed."""
        survey = self._choose(rng)
        if survey is None:
            return

        def is_sealed() -> bool:
            return len(find(self._database, survey).waiting) < survey.minimum

        wait_until(is_sealed, pause=0.1)

    def export(self, rng: random.Random) -> None:
        """What analysts are given is what was released, and never a withdrawn report."""
        if not self.surveys:
            return
        survey = rng.choice(self.surveys)
        path = f"{SURVEYS}/{survey.name}/versions/1/records"
        status, body = self.server.request(path, **self.server.admin)
        if status != 200:
            assert status in (409, 410), body
            return
        _, records = read_records(body)
        found = find(self._database, survey)
        most = Counter(one.report.record for one in survey.of(STORED, UNSURE))
        assert Counter(map(bytes, records)) <= most, "the export has what was not sent, or more"
        if survey.release != "immediate":
            assert len(records) == found.released
        self._check_small_groups(survey)

    def look(self, rng: random.Random) -> None:
        """A reader looks at results, most often at those of a survey that is over."""
        over = [one for one in self.surveys if one.closed]
        among = over if over and rng.random() < 0.7 else self.surveys
        if among:
            self._check_small_groups(rng.choice(among))

    def restart(self, rng: random.Random) -> None:
        del rng
        self.server.stop()
        self.server = self._start()

    def kill(self, rng: random.Random) -> None:
        """SIGKILL all processes while reports and a withdrawal are on their way."""
        survey = self._choose(rng)
        made = [] if survey is None else [self._make(survey, rng) for _ in range(12)]
        back = [one for _, one in self._some(rng, 2, of=survey)] if survey else []
        redemptions = self._drawn(survey, rng, 4) if survey else []
        after = rng.randint(0, 10)
        answered = threading.Semaphore(0)
        acknowledged: set[int] = set()

        def submit(part: list[Sent]) -> None:
            for one in part:
                with suppress(OSError, http.client.HTTPException):
                    assert survey is not None
                    if self._send(survey, one)[0] == 201:
                        acknowledged.add(id(one))
                answered.release()

        asked: list[Sent] = []

        def take_back() -> None:
            for one in back:
                with suppress(OSError, http.client.HTTPException):
                    assert survey is not None
                    status, answer = self._ask_back(survey, one)
                    if status == 200:
                        asked.append(one)
                        if json.loads(answer)["status"] == "deleted":
                            one.state = DELETED

        evaluated: dict[int, bytes] = {}

        def ask_all() -> None:
            for place, one in enumerate(redemptions):
                with suppress(OSError, http.client.HTTPException):
                    assert survey is not None
                    status, answer = self._ask(survey, one)
                    if status == 200:
                        evaluated[place] = answer

        threads = [threading.Thread(target=submit, args=(made[at::3],)) for at in range(3)]
        threads += [threading.Thread(target=take_back), threading.Thread(target=ask_all)]
        for thread in threads:
            thread.start()
        for _ in range(min(after, len(made))):
            answered.acquire()
        self.server.kill()
        for thread in threads:
            thread.join()
        self.server = self._start()
        if survey is None:
            return
        for one in made:
            status, answer = self._send(survey, one)
            wanted = {200} if id(one) in acknowledged else {200, 201}
            assert status in wanted, (status, answer)
        survey.sent += made
        for one in back:
            if one not in asked:
                self._withdraw(survey, one, asked_before=True)
        for place, redemption in enumerate(redemptions):
            if place in evaluated:
                other = Redemption.drawn(redemption.invitation, rng)
                assert self._ask(survey, other)[0] == 409, "a redemption is lost"
            survey.tokens.append(self._redeemed(survey, redemption))
            if place in evaluated:
                token = redemption.token(evaluated[place], survey.published)
                assert token == survey.tokens[-1], "another evaluation"

    # What steps are made of

    def _start(self) -> Process:
        server = Process(
            self._directory, *OPTIONS, database_url=self._url, environment=self._environment
        )
        self._use.clear()
        return server

    def _open(self) -> list[Survey]:
        return [one for one in self.surveys if not one.closed]

    def _choose(self, rng: random.Random) -> Survey | None:
        chosen = self._open()
        return rng.choice(chosen) if chosen else None

    def _some(
        self, rng: random.Random, most: int, *, of: Survey | None = None
    ) -> list[tuple[Survey, Sent]]:
        """Draw reports that were sent, the newest more often: those are not sealed yet."""
        surveys = [of] if of else self.surveys[-6:]
        drawn: list[tuple[Survey, Sent]] = []
        for _ in range(rng.randint(1, most)):
            survey = rng.choice(surveys) if surveys else None
            if survey is None or not survey.sent:
                continue
            recent = survey.sent[-12:] if rng.random() < 0.7 else survey.sent
            one = rng.choice(recent)
            if one.secret and (survey, one) not in drawn:
                drawn.append((survey, one))
        return drawn

    def _make(self, survey: Survey, rng: random.Random, *, token: bool = True) -> Sent:
        commune = rng.choices(COMMUNES, [8, 6, 4, 1])[0]
        answers = {
            "smokes": rng.choice(["no", "yes"]),
            "age": str(rng.randint(1, 9)),
            "commune": commune,
        }
        secret = rng.randbytes(32)
        report = wire.Report(id_of(secret), encoded(survey.published, answers).record)
        spent = None
        if survey.published.submission == "token" and token:
            if not survey.tokens:
                path = f"{SURVEYS}/{survey.name}/tokens"
                survey.tokens = self.server.post(path, {"count": 100})["tokens"]
            spent = survey.tokens.pop()
        elif survey.published.submission == INVITED and token:
            if not survey.tokens:
                drawn = self._drawn(survey, rng, 6)
                survey.tokens = [self._redeemed(survey, one) for one in drawn]
            spent = survey.tokens.pop()
        return Sent(report, secret, commune, spent)

    def _invite(self, survey: Survey, count: int) -> list[str]:
        path = f"{SURVEYS}/{survey.name}/versions/1/invitations"
        codes: list[str] = self.server.post(path, {"count": count})["invitations"]
        survey.invited += count
        return codes

    def _drawn(self, survey: Survey, rng: random.Random, count: int) -> list[Redemption]:
        """New invitations of an invited survey, with what devices drew for them."""
        if survey.published.submission != INVITED:
            return []
        return [Redemption.drawn(code, rng) for code in self._invite(survey, count)]

    def _ask(self, survey: Survey, one: Redemption) -> tuple[int, bytes]:
        body = json.dumps(encode_redemption(survey.published.digest, one.blinded)).encode()
        headers = {**JSON, **bearer(one.invitation)}
        status, answer = self.server.request(self._path(survey, "redemptions"), body, **headers)
        if status == 200:
            survey.redeemed.add(one.invitation)
        return status, answer

    def _redeemed(self, survey: Survey, one: Redemption) -> str:
        """The token of a redemption, whose proof must hold."""
        status, answer = self._ask(survey, one)
        assert status == 200, (status, answer)
        return one.token(answer, survey.published)

    def _lose(self, survey: Survey, one: Redemption) -> None:
        """Redeem, and go before the answer comes."""
        body = json.dumps(encode_redemption(survey.published.digest, one.blinded))
        head = (
            f"POST {self._path(survey, 'redemptions')} HTTP/1.1\r\nHost: x\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {one.invitation}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with self.server.connect() as connection:
            connection.sendall((head + body).encode())

    def _check_forgeries(self, survey: Survey, good: Sent, rng: random.Random) -> None:
        """No token of another input, of another version, or of none is worth a report."""
        assert good.token is not None
        forged = [b64encode(rng.randbytes(96)), good.token[:-4] + "AAAA", None]
        forged += [token for one in self.surveys if one is not survey for token in one.tokens[:1]]
        for token in forged:
            one = self._make(survey, rng, token=False)
            one.token = token
            status, answer = self._send(survey, one)
            assert status == 401, (status, answer)

    @staticmethod
    def _path(survey: Survey, what: str) -> str:
        return f"{SURVEYS}/{survey.name}/{what}"

    def _send(self, survey: Survey, one: Sent) -> tuple[int, bytes]:
        body = json.dumps(wire.encode_report_json(survey.published.digest, one.report)).encode()
        headers = JSON if one.token is None else {**JSON, **bearer(one.token)}
        return self.server.request(self._path(survey, "reports"), body, **headers)

    def _send_together(self, survey: Survey, made: list[Sent]) -> None:
        body = wire.pack_reports(survey.published.digest, [one.report for one in made])
        status, answer = self.server.request(
            self._path(survey, "reports"),
            body,
            **{"Content-Type": wire.REPORTS_MEDIA_TYPE},
            **self.server.admin,
        )
        assert status == 200, answer
        assert json.loads(answer)["accepted"] == len(made)
        survey.sent += made

    def _ask_back(self, survey: Survey, one: Sent) -> tuple[int, bytes]:
        body = encode_withdrawal_json(survey.published.digest, one.secret)
        return self.server.request(
            self._path(survey, "withdrawals"), json.dumps(body).encode(), **JSON
        )

    def _withdraw(self, survey: Survey, one: Sent, *, asked_before: bool = False) -> None:
        waits = one.report.id in find(self._database, survey).waiting
        status, answer = self._ask_back(survey, one)
        assert status == 200, answer
        said = json.loads(answer)["status"]
        found = find(self._database, survey)
        assert one.report.id not in found.waiting, "a withdrawn report waits"
        if said == "deleted":
            assert one.state in (STORED, UNSURE, DELETED)
            assert one.state == DELETED or asked_before or waits, "deleted what was not there"
            one.state = DELETED
        elif asked_before and one.state == STORED:
            # The lost withdrawal may have deleted it, and a seal have taken its id.
            one.state = UNSURE

    def _note_guess(self, survey: Survey, secret: bytes) -> None:
        """A secret of no report puts an id down, under which nothing is ever stored."""
        report = wire.Report(id_of(secret), bytes(survey.published.layout.record_size))
        survey.sent.append(Sent(report, b"", "", state=NEVER))

    def _delete(self, path: str) -> tuple[int, bytes]:
        host, port = self.server.address
        connection = http.client.HTTPConnection(host, port, timeout=300)
        try:
            connection.request("DELETE", path, headers=self.server.admin)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _pass(self, seconds: float) -> None:
        self._move(float(self._ahead.read_text()) + seconds)

    def _move(self, seconds: float) -> None:
        new = self._ahead.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._ahead)

    def _now(self) -> float:
        return SystemClock().now().timestamp() + float(self._ahead.read_text())

    def _settle(self, survey: Survey) -> None:
        """Wait until what is due by the clock was done: releases, and the end of collection."""
        statement = (
            "SELECT count(*) FROM survey_versions WHERE digest = %(digest)s AND NOT ended "
            "AND (next_release <= %(now)s OR accepts_until <= %(now)s)"
        )

        def is_done() -> bool:
            parameters = {"digest": survey.published.digest, "now": int(self._now()) - 1}
            with self._database.reading() as connection:
                due = connection.exec_driver_sql(statement, parameters)
                return due.scalar_one() == 0

        wait_until(is_done, pause=0.05)

    def _check_account(self, survey: Survey) -> None:
        account = self.server.get(f"{SURVEYS}/{survey.name}/versions/1/counts")
        refused = account["duplicate"] + sum(account["rejected"].values())
        assert account["received"] == account["accepted"] + account["withdrawn"] + refused
        found = find(self._database, survey)
        assert account["reconciles"] is not False, account
        if survey.published.submission == INVITED:
            overview = self.server.get(f"{SURVEYS}/{survey.name}/versions/1/overview")
            counted = overview["invited"], overview["redeemed"]
            assert counted == (survey.invited, len(survey.redeemed)), (counted, survey.invited)
        if survey.release != "immediate":
            assert account["accepted"] in (survey.released, found.released), account
        # A seal may fall between the two looks, and moves no sum.
        else:
            assert account["accepted"] == len(found.waiting) + found.sealed, account
            assert account["withdrawn"] == found.withdrawn
        check(survey, found)

    def _check_small_groups(self, survey: Survey) -> None:
        """A reader who may not export sees no answer in clear before the end, and then no few."""
        form = f"/dashboard/surveys/{survey.name}/versions/1/results/estimates/file.csv"
        status, body = self._read(form)
        if status != 200:
            assert status == 409, (status, body)
            return
        rows = csv.DictReader(io.StringIO(body.decode("utf-8-sig")))
        assert "attribute" in (rows.fieldnames or ()), body
        shown = {
            row["category"]: float(row["frequency"])
            for row in rows
            if row["attribute"] == "commune"
        }
        self.looks += bool(shown)
        check_groups(survey, find(self._database, survey), shown, SMALLEST_GROUP)

    def _read(self, path: str) -> tuple[int, bytes]:
        """Ask as the reader, who signs in again where the clock has ended the session."""
        if self._reader is None:
            self._reader = self._signed_in()
        status, body = self._get(path, self._reader)
        if status == 303:
            self._reader = self._signed_in()
            status, body = self._get(path, self._reader)
        return status, body

    def _get(self, path: str, cookie: str) -> tuple[int, bytes]:
        """Ask and follow no redirection: the form that signs in would look like a page."""
        connection = http.client.HTTPConnection(*self.server.address, timeout=300)
        try:
            connection.request("GET", path, headers={"Cookie": cookie})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _signed_in(self) -> str:
        """The cookie of a user who may look at results and not export them."""
        users = Users(UserStore(self._database), SystemClock())
        if not self._has_reader:
            users.add("reader", PASSWORD, {"*": "reader"})
            self._has_reader = True
        connection = http.client.HTTPConnection(*self.server.address, timeout=300)
        try:
            connection.request("GET", "/dashboard/sign-in")
            answer = connection.getresponse()
            page, cookie = answer.read().decode(), answer.getheader("Set-Cookie") or ""
            first = cookie.partition(";")[0]
            token = re.search(r'name="form_token" value="([^"]*)"', page)
            assert token is not None, page
            body = urlencode({"form_token": token[1], "name": "reader", "password": PASSWORD})
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": first}
            connection.request("POST", "/dashboard/sign-in", body, headers)
            answer = connection.getresponse()
            assert answer.status == 303, answer.read()
            return (answer.getheader("Set-Cookie") or first).partition(";")[0]
        finally:
            connection.close()

    def _check_processes(self) -> None:
        kinds = [("ingest", one) for one in self.server.ingest()] + [("web", self.server.web())]
        for kind, process in kinds:
            steps, size, files = self._use.get(process.pid, (0, 0, 0))
            with suppress(psutil.Error):
                now = process.memory_info().rss, process.num_fds()
                if steps < WARM_STEPS:
                    size, files = max(size, now[0]), max(files, now[1])
                self._use[process.pid] = steps + 1, size, files
                self.grown[kind] = max(self.grown[kind], now[0] - size)
                self.descriptors[kind] = max(self.descriptors[kind], now[1])
                most = MORE_BYTES[kind]
                assert now[0] <= size + most, f"{kind} grew from {size} to {now[0]} bytes"
                assert now[1] <= files + MORE_DESCRIPTORS, f"{kind}: {now[1]} descriptors"


STEPS: Final[dict[str, tuple[Step, int]]] = {
    "publish": (Soak.publish, 6),
    "answer": (Soak.answer, 30),
    "crowd": (Soak.crowd, 8),
    "retry": (Soak.retry, 9),
    "replay": (Soak.replay, 4),
    "withdraw": (Soak.withdraw, 16),
    "withdraw first": (Soak.withdraw_first, 3),
    "race": (Soak.race, 6),
    "redeem": (Soak.redeem, 6),
    "hostile": (Soak.hostile, 6),
    "close": (Soak.end, 4),
    "delete": (Soak.delete, 2),
    "day": (Soak.day, 7),
    "week": (Soak.week, 3),
    "seal": (Soak.seal, 6),
    "export": (Soak.export, 4),
    "look": (Soak.look, 6),
    "restart": (Soak.restart, 1),
    "kill": (Soak.kill, 3),
}
