"""Invitations by mail: checked first, sent once each, addresses encrypted and soon forgotten."""

from __future__ import annotations

import re
import ssl

import pytest
import trustme

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs.mailing import REST_SECONDS
from hushpoll_server.jobs.runner import Runner
from hushpoll_server.services.surveys import mail_server, mailing
from hushpoll_server.services.surveys.mail_server import MailServer as Connection
from hushpoll_shared.wire import invitations as wire
from hushpoll_shared.wire import voprf
from mail_server import MailServer
from sample_survey import bearer

INVITE = "/api/v1/surveys/work/versions/1/jobs/invite"
REMIND = "/api/v1/surveys/work/versions/1/jobs/remind"
KEY = "a7" * 32
HOUR = REST_SECONDS
PEOPLE = [
    {"address": "ada@example.org", "name": "Ada Lovelace"},
    {"address": "bob@example.org"},
    {"address": "eve@example.org", "name": "Eve {link} Ömer"},
]


@pytest.fixture
def post():
    with MailServer() as server:
        yield server


def settings_of(post, **changes):
    return {
        "INVITATION_SEED": "5e" * 32,
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": post.port,
        "SMTP_SECURITY": "none",
        "MAIL_SENDER": "team@example.com",
        "MAIL_RATE": 100_000,
        "PUBLIC_URL": "https://polls.example.com/team",
        "ADDRESS_KEY": KEY,
        **changes,
    }


@pytest.fixture
def invited(make_site, post, monkeypatch):
    """A site that sends mail, with a survey in English, and what the mail server keeps."""
    monkeypatch.setattr(mailing, "PAUSES", (0.0, 0.0))
    site = make_site(**settings_of(post))
    return site, site.publish(submission="invited", language="en"), post.kept


def people(*chosen, **changes):
    return {"people": [one for one in PEOPLE if not chosen or one["address"][:3] in chosen]} | (
        changes
    )


def ask(site, path, body, name="work"):
    return site.run_job(path.rpartition("/")[2], body, name=name)


def text_of(mail):
    return mail.get_content().replace("\r\n", "\n")


def code_of(mail):
    return re.search(r"&invitation=([\w-]+)", text_of(mail))[1]


def redeem(site, published, mail):
    blinded = voprf.Blind(b"i" * 32)[1]
    answer = site.post(
        f"/api/v1/surveys/{published.name}/redemptions",
        json=wire.encode_redemption(published.digest, blinded),
        headers=bearer(code_of(mail)),
    )
    assert answer.status_code == 200, answer.json


def test_each_person_gets_a_link_of_their_own(invited):
    site, published, kept = invited
    assert ask(site, INVITE, people("ada", "bob")) == {
        "survey": "work",
        "version": 1,
        "sent": 2,
        "refused": 0,
        "later": 0,
        "redeemed": 0,
    }
    assert sorted(kept.addresses) == ["ada@example.org", "bob@example.org"]
    ada, bob = sorted(kept.mails, key=lambda one: "bob" in one["To"])
    assert ada["To"] == "Ada Lovelace <ada@example.org>"
    assert ada["From"] == "team@example.com"
    assert text_of(ada).startswith("Hello Ada Lovelace,\n")
    assert text_of(bob).startswith("Hello,\n")
    link = f"https://polls.example.com/team/s/work#sha256={published.digest}&invitation="
    assert link in text_of(ada)
    assert code_of(ada) != code_of(bob)
    redeem(site, published, ada)
    overview = site.get("/api/v1/surveys/work/versions/1/overview").json
    assert (overview["invited"], overview["redeemed"], overview["mail_sent"]) == (2, 1, 2)


def test_reminder_goes_to_those_alone_who_have_not_redeemed(invited):
    site, published, kept = invited
    ask(site, INVITE, people("ada", "bob"))
    ada = next(mail for mail in kept.mails if "ada" in mail["To"])
    redeem(site, published, ada)
    first = {mail["To"]: mail for mail in kept.mails}
    kept.mails.clear()
    site.clock.advance(HOUR + 1)
    assert ask(site, REMIND, {})["sent"] == 1
    (reminder,) = kept.mails
    assert reminder["To"] == "bob@example.org"
    assert reminder["Subject"].startswith("Reminder: ")
    assert code_of(reminder) == code_of(first["bob@example.org"])
    redeem(site, published, reminder)
    refused = site.post(REMIND, json={})
    assert (refused.status_code, refused.json["field"]) == (422, "survey")


def test_second_reminder_within_an_hour_is_refused_also_while_the_first_is_sent(
    invited, monkeypatch
):
    """Guards: half of the reminders of a job that was running were taken into a second one."""
    site, _, kept = invited
    ask(site, INVITE, people("ada", "bob"))
    refused = site.post(REMIND, json={})
    assert (refused.status_code, refused.json["field"]) == (422, "survey")
    assert "within the last hour" in refused.json["detail"]
    site.clock.advance(HOUR + 1)
    given, statuses = Connection.give, []

    def give(self, message, address):
        answer = given(self, message, address)
        statuses.append(site.post(REMIND, json={}).status_code)
        return answer

    monkeypatch.setattr(Connection, "give", give)
    kept.addresses.clear()
    assert ask(site, REMIND, {})["sent"] == 2
    assert statuses == [422, 422]
    assert site.post(REMIND, json={}).status_code == 422
    assert sorted(kept.addresses) == ["ada@example.org", "bob@example.org"]


def test_reminder_is_not_sent_to_a_person_who_redeems_after_it_was_asked_for(invited):
    site, published, kept = invited
    ask(site, INVITE, people("ada", "bob"))
    site.clock.advance(HOUR + 1)
    answer = site.post(REMIND, json={})
    redeem(site, published, kept.mails[0])
    kept.mails.clear()
    Runner(site.services).run_waiting()
    result = site.get(f"/api/v1/jobs/{answer.json['id']}/result").json
    assert (result["sent"], result["redeemed"], len(kept.mails)) == (1, 1, 1)


def test_nothing_stored_in_clear_and_the_job_has_no_address(invited):
    site, _, _ = invited
    ask(site, INVITE, people("ada", "bob"))
    stored = b"".join(map(bytes, site.scalars("SELECT sealed FROM addressees")))
    stored += b"".join(map(bytes, site.scalars("SELECT address FROM addressees")))
    texts = "".join(site.scalars("SELECT parameters FROM jobs"))
    for secret in ("ada", "Lovelace", "example.org"):
        assert secret.encode() not in stored
        assert secret not in texts
    sizes = {len(bytes(one)) for one in site.scalars("SELECT sealed FROM addressees")}
    assert len(sizes) == 1  # a longer address has no longer row


def test_addresses_are_deleted_on_close_and_when_the_closing_day_is_over(invited, make_site):
    site, _, kept = invited
    ask(site, INVITE, people("ada", "bob"))
    site.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 3600})
    assert site.scalars("SELECT count(*) FROM addressees") == [0]
    assert site.scalars("SELECT count(*) FROM invitations") == [2]
    site.publish(submission="invited", name="ends", closes="2026-03-02T00:00:00Z")
    ask(site, INVITE, people("ada"), name="ends")
    assert "2026-03-02" in text_of(kept.mails[-1])
    site.clock.advance(86_400)
    site.services.sealing.sweep(site.services.surveys.now())
    assert site.scalars("SELECT count(*) FROM addressees") == [0]
    assert site.post(INVITE, json=people("ada")).status_code == 410
    assert site.post(REMIND, json={}).status_code == 410


def test_job_that_was_killed_goes_on_and_sends_none_twice_but_the_one_on_its_way(
    invited, monkeypatch
):
    site, _, kept = invited
    body = {"people": [{"address": f"p{number}@example.org"} for number in range(9)]}
    given = Connection.give
    calls = []

    def die(self, message, address):
        calls.append(address)
        answer = given(self, message, address)
        if len(calls) == 4:
            raise KeyboardInterrupt  # as a kill: taken by the server, and not written down
        return answer

    monkeypatch.setattr(Connection, "give", die)
    answer = site.post(INVITE, json=body)
    with pytest.raises(KeyboardInterrupt):
        Runner(site.services).run_waiting()
    assert len(kept.addresses) == 4
    site.clock.advance(site.services.settings.job_lease_seconds + 1)
    Runner(site.services).run_waiting()
    assert site.get(f"/api/v1/jobs/{answer.json['id']}/result").json["sent"] == 6
    assert len(kept.addresses) == 10
    assert len(set(kept.addresses)) == 9
    twice = [one for one in kept.mails if kept.addresses.count(one["To"]) == 2]
    assert len({one["Message-ID"] for one in twice}) == 1


def test_refusals_are_counted_and_what_is_to_be_tried_later_is(invited):
    site, _, kept = invited
    kept.answers = {"ada@example.org": ["550 no such user"], "bob@example.org": ["450 busy"]}
    result = ask(site, INVITE, people("ada", "bob"))
    assert (result["sent"], result["refused"], result["later"]) == (1, 1, 0)
    assert kept.addresses == ["bob@example.org"]
    overview = site.get("/api/v1/surveys/work/versions/1/overview").json
    assert [overview[f"mail_{one}"] for one in ("waiting", "sent", "refused")] == [0, 1, 1]
    kept.answers = {"bob@example.org": ["450 busy"] * 9}
    site.clock.advance(HOUR + 1)
    assert ask(site, REMIND, {})["later"] == 1
    assert ask(site, REMIND, {})["later"] == 1
    kept.answers = {}
    assert ask(site, REMIND, {})["sent"] == 1  # and never to the refused address
    assert kept.addresses == ["bob@example.org"] * 2


def test_person_who_never_got_the_invitation_gets_it_by_remind(invited, monkeypatch):
    site, _, kept = invited
    answer = site.post(INVITE, json=people("ada"))
    busy = site.post(REMIND, json={})
    assert busy.status_code == 422  # the first job writes to all
    site.post(f"/api/v1/jobs/{answer.json['id']}/cancel")
    assert ask(site, REMIND, {})["sent"] == 1
    assert kept.mails[0]["Subject"].startswith("Invitation: ")


def crowd(count):
    return {"people": [{"address": f"p{number}@example.org"} for number in range(count)]}


@pytest.mark.sqlite
def test_table_of_five_thousand_people_is_taken_by_one_request(invited):
    """Guards: the body of a request for a job had 64 KiB, some 1,300 addresses."""
    site, _, _ = invited
    assert site.post(INVITE, json=crowd(5000)).status_code == 202
    assert site.scalars("SELECT count(*) FROM addressees") == [5000]
    known = site.post(INVITE, json=crowd(5000))
    assert (known.status_code, known.json["field"]) == (422, "address")
    assert "as 5000 of these 5000 are" in known.json["detail"]


@pytest.mark.sqlite
def test_mail_server_that_hangs_up_and_comes_back_gets_each_mail_once(invited):
    site, _, kept = invited
    kept.hangs_up = ["p2@example.org", "p5@example.org"]
    kept.answers = {"p7@example.org": ["421 restarts"]}
    assert ask(site, INVITE, crowd(9))["sent"] == 9
    assert sorted(kept.addresses) == [f"p{number}@example.org" for number in range(9)]


@pytest.mark.sqlite
def test_mail_server_that_dies_in_the_middle_loses_nobody_and_writes_to_none_twice(
    invited, monkeypatch
):
    site, _, kept = invited
    address = "p4@example.org"
    kept.hangs_up = [address] * len(mailing.PAUSES)
    answer = site.post(INVITE, json=crowd(9))
    Runner(site.services).run_waiting()
    assert site.get(f"/api/v1/jobs/{answer.json['id']}").json["state"] == "failed"
    overview = site.get("/api/v1/surveys/work/versions/1/overview").json
    assert overview["mail_sent"] == len(kept.addresses) < 9
    assert overview["mail_waiting"] == 9 - len(kept.addresses)
    # Soon afterwards, as the job's error says: those who got theirs get no reminder yet.
    assert ask(site, REMIND, {})["sent"] == overview["mail_waiting"]
    assert sorted(kept.addresses) == [f"p{number}@example.org" for number in range(9)]
    assert all(mail["Subject"].startswith("Invitation: ") for mail in kept.mails)


@pytest.mark.sqlite
@pytest.mark.parametrize("way", ["none", "tls"])
def test_slow_mail_server_is_waited_for_where_giving_up_would_send_a_mail_twice(
    make_site, monkeypatch, tmp_path, way
):
    options = {}
    if way == "tls":
        options = WAYS[way](secured(monkeypatch, tmp_path, host="127.0.0.1"))
    monkeypatch.setattr(mail_server, "TIMEOUT_SECONDS", 0.25)
    with MailServer(**options) as slow:
        slow.kept.delay = 0.4
        site = make_site(**settings_of(slow, SMTP_SECURITY=way))
        site.publish(submission="invited")
        assert ask(site, INVITE, people("ada", "bob"))["sent"] == 2
    assert sorted(slow.kept.addresses) == ["ada@example.org", "bob@example.org"]


@pytest.mark.sqlite
def test_mail_server_that_stays_away_ends_the_job_with_the_remedy(make_site, monkeypatch):
    monkeypatch.setattr(mailing, "PAUSES", (0.0,))
    with MailServer() as away:
        pass
    site = make_site(**settings_of(away))
    site.publish(submission="invited")
    answer = site.post(INVITE, json=people("ada"))
    Runner(site.services).run_waiting()
    job = site.get(f"/api/v1/jobs/{answer.json['id']}").json
    assert job["state"] == "failed"
    assert "hushpoll survey remind" in job["error"]["detail"]
    assert "ada" not in job["error"]["detail"]


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"people": [{"address": "a@b.org\nBcc: x@y.org"}]}, "address", "person 1"),
        ({"people": [{"address": "a@b.org", "name": "A\r\nBcc: x"}]}, "name", "control"),
        ({"people": [{"address": "A@b.org"}, {"address": "a@B.org"}]}, "address", "again"),
        ({"people": [{"address": "a@b.org", "language": "fr"}]}, "language", "en"),
        ({"people": [{"address": "a@b.org"}], "texts": {"en": {"subject": "x", "body": "y"}}},
         "texts.en.body", "{link}"),
        ({"people": [{"address": "a@b.org"}],
          "texts": {"en": {"subject": "x", "body": "{lnk} {link}"}}},
         "texts.en.body", "'link'"),
        ({"people": [{"address": "a@b.org"}],
          "texts": {"en": {"subject": "x\nBcc: y", "body": "{link}"}}},
         "texts.en.subject", "control"),
        ({"people": [{"address": "a@b.org"}],
          "texts": {"en": {"subject": "x", "body": "{name} {link}"}}}, "name", "{greeting}"),
        ({"people": [{"address": "a@b.org"}],
          "texts": {"en": {"subject": "x", "body": "{closes} {link}"}}},
         "texts.en.body", "no closes"),
        ({"people": []}, "people", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_before_anything_is_stored(invited, body, field, words):
    site, _, kept = invited
    refused = site.post(INVITE, json=body)
    assert (refused.status_code, refused.json["field"]) == (422, field), refused.json
    assert words in refused.json["detail"]
    assert site.scalars("SELECT count(*) FROM addressees") == [0]
    assert site.scalars("SELECT count(*) FROM invitations") == [0]
    assert not kept.mails


def test_address_is_invited_once_to_a_version(invited):
    site, _, _ = invited
    ask(site, INVITE, people("ada"))
    refused = site.post(INVITE, json=people("ada", "bob"))
    assert (refused.status_code, refused.json["field"]) == (422, "address")
    assert "remind" in refused.json["detail"]
    assert site.scalars("SELECT count(*) FROM invitations") == [1]


def test_job_that_is_one_too_many_stores_nobody(make_site, post):
    site = make_site(**settings_of(post, JOBS_PER_TOKEN=1))
    site.publish(submission="invited")
    assert site.post(INVITE, json=people("ada")).status_code == 202
    assert site.post(INVITE, json=people("bob")).status_code == 429
    assert site.scalars("SELECT count(*) FROM addressees") == [1]
    assert site.scalars("SELECT count(*) FROM invitations") == [1]


@pytest.mark.sqlite
def test_text_is_in_the_language_of_the_survey_and_a_name_is_no_template(invited):
    site, _, kept = invited
    site.publish(submission="invited", name="arbeit", language="de-AT", operator="Gruppe Ö")
    ask(site, INVITE, people("eve"), name="arbeit")
    (mail,) = kept.mails
    assert mail["To"] == "Eve {link} Ömer <eve@example.org>"
    assert mail["From"] == "Gruppe Ö <team@example.com>"
    assert mail["Subject"] == "Einladung: Work and health"
    assert text_of(mail).startswith("Guten Tag Eve {link} Ömer,\n")
    assert text_of(mail).endswith("Die Umfrage führt Gruppe Ö durch.\n")
    site.publish(submission="invited", name="lavoro", language="it")
    refused = site.post(INVITE.replace("work", "lavoro"), json=people("ada"))
    assert refused.json["field"] == "texts"


@pytest.mark.sqlite
def test_own_text_is_sent(invited):
    site, _, kept = invited
    text = {"subject": "Hey {name}: {title}", "body": "{greeting}\n\nÜber hier: {link}\n"}
    ask(site, INVITE, people("ada", texts={"en": text}))
    (mail,) = kept.mails
    assert mail["Subject"] == "Hey Ada Lovelace: Work and health"
    assert text_of(mail).startswith("Hello Ada Lovelace,\n\nÜber hier: https://")


@pytest.mark.sqlite
def test_another_key_is_refused_with_both_ids(invited, monkeypatch):
    site, _, _ = invited
    ask(site, INVITE, people("ada"))
    other = site.services.settings.changed(address_key="b8" * 32)
    monkeypatch.setattr(site.services.mailing, "_settings", other)
    refused = site.post(REMIND, json={})
    assert refused.status_code == 503
    assert "address_key" in refused.json["detail"]


def test_rotated_key_encrypts_new_versions_and_the_former_one_goes_on_with_its_own(
    make_site, post, monkeypatch
):
    site = make_site(**settings_of(post))
    site.publish(submission="invited")
    ask(site, INVITE, people("ada"))
    (former,) = set(site.scalars("SELECT key_id FROM addressees"))
    rotated = make_site(**settings_of(post, ADDRESS_KEY="b8" * 32, FORMER_ADDRESS_KEYS=KEY))
    # One address is one address in a version, also after the key was changed.
    twice = rotated.post(INVITE, json=people("ada"))
    assert (twice.status_code, twice.json["field"]) == (422, "address")
    ask(rotated, INVITE, people("bob"))
    assert set(rotated.scalars("SELECT key_id FROM addressees")) == {former}
    rotated.clock.advance(HOUR + 1)
    assert ask(rotated, REMIND, {})["sent"] == 2
    rotated.publish(submission="invited", name="second")
    ask(rotated, INVITE, people("ada"), name="second")
    assert len(set(rotated.scalars("SELECT key_id FROM addressees"))) == 2
    rotated.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 0})
    (newest,) = set(rotated.scalars("SELECT key_id FROM addressees"))
    assert newest != former


def secured(monkeypatch, tmp_path, *, host):
    """A context of a mail server whose certificate holds for `host`, and is trusted."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return context


WAYS = {
    "starttls": lambda context: {"tls_context": context, "require_starttls": True},
    "tls": lambda context: {"ssl_context": context},
}


@pytest.mark.sqlite
@pytest.mark.parametrize("way", WAYS)
def test_mail_goes_encrypted_to_a_server_whose_certificate_holds(
    make_site, monkeypatch, tmp_path, way
):
    options = WAYS[way](secured(monkeypatch, tmp_path, host="127.0.0.1"))
    with MailServer(**options) as secure:
        site = make_site(**settings_of(secure, SMTP_SECURITY=way))
        site.publish(submission="invited")
        assert ask(site, INVITE, people("ada", "bob"))["sent"] == 2
    assert sorted(secure.kept.addresses) == ["ada@example.org", "bob@example.org"]
    assert secure.kept.encrypted == [True, True]


@pytest.mark.sqlite
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", ["another host", "another authority"])
def test_wrong_certificate_is_refused_and_nothing_is_sent(
    make_site, monkeypatch, tmp_path, way, fault
):
    host = "mail.example.org" if fault == "another host" else "127.0.0.1"
    context = secured(monkeypatch, tmp_path, host=host)
    if fault == "another authority":
        trustme.CA().cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    with MailServer(**WAYS[way](context)) as secure:
        site = make_site(**settings_of(secure, SMTP_SECURITY=way))
        site.publish(submission="invited")
        answer = site.post(INVITE, json=people("ada"))
        Runner(site.services).run_waiting()
    job = site.get(f"/api/v1/jobs/{answer.json['id']}").json
    assert job["state"] == "failed"
    assert "the mail server's certificate does not hold for smtp_host" in job["error"]["detail"]
    assert not secure.kept.addresses


@pytest.mark.sqlite
def test_server_without_the_settings_names_them(make_site):
    site = make_site(INVITATION_SEED="5e" * 32)
    site.publish(submission="invited")
    refused = site.post(INVITE, json=people("ada"))
    assert (refused.status_code, refused.json["field"]) == (422, "smtp_host")
    assert "public_url, address_key" in refused.json["detail"]


@pytest.mark.sqlite
def test_preview_is_what_is_sent_and_needs_no_mail_server(make_site, invited):
    own = {"en": {"subject": "{name}, please", "body": "{greeting}\n\n{link}\n"}}
    path = INVITE.replace("jobs/invite", "mail-previews")
    site, _, kept = invited
    assert ask(site, INVITE, people("ada", texts=own))["sent"] == 1
    (sent,) = kept.mails
    (shown,) = site.post(path, json={"texts": own}).json["mails"]
    assert shown["language"] == "en"
    head = [str(sent[name]) for name in ("From", "To", "Subject")]
    assert [shown["sender"], "Ada Lovelace <ada@example.org>", shown["subject"]] == head
    assert shown["body"].replace("the-invitation-of-this-person", code_of(sent)) == text_of(sent)
    (reminder,) = site.post(path, json={"reminder": True}).json["mails"]
    assert reminder["subject"].startswith("Reminder: ")
    assert (len(kept.mails), site.scalars("SELECT count(*) FROM addressees")) == (1, [1])
    without = make_site(INVITATION_SEED="5e" * 32)
    without.publish(name="de", submission="invited", language="de")
    (mail,) = without.post(path.replace("work", "de"), json={}).json["mails"]
    assert (mail["language"], mail["sender"]) == ("de", "")


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"texts": {"en": {"subject": "{nane}", "body": "{link}"}}}, "texts.en.subject"),
        ({"texts": {"en": {"subject": "Hello", "body": "no link"}}}, "texts.en.body"),
        ({"texts": {"fr": {"subject": "Salut", "body": "{link}"}}}, "texts"),
        ({"reminder": "yes"}, "reminder"),
        ({"people": [{"address": "a@example"}]}, "address"),
        ({"people": people("ada")["people"] * 2}, "address"),
        (people("bob", texts={"en": {"subject": "{name}", "body": "{link}"}}), "name"),
        ({"person": "a@example.org"}, "person"),
    ],
)
def test_preview_of_what_would_not_be_sent_is_refused(invited, body, field):
    site, _, _ = invited
    answer = site.post(INVITE.replace("jobs/invite", "mail-previews"), json=body)
    assert (answer.status_code, answer.json["field"]) == (422, field)


@pytest.mark.sqlite
def test_mail_server_without_tls_gets_nothing(make_site, post):
    site = make_site(**settings_of(post, SMTP_SECURITY="starttls"))
    site.publish(submission="invited")
    answer = site.post(INVITE, json=people("ada"))
    Runner(site.services).run_waiting()
    job = site.get(f"/api/v1/jobs/{answer.json['id']}").json
    assert "smtp_security" in job["error"]["detail"]
    assert not post.kept.mails


@pytest.mark.sqlite
def test_settings_keep_mail_off_the_network_in_clear():
    base = {"SMTP_HOST": "mail.example.org", "SMTP_SECURITY": "none"}
    with pytest.raises(InvalidParameter, match="in clear") as refused:
        Settings.from_mapping(base)
    assert refused.value.field == "SMTP_SECURITY"
    assert Settings.from_mapping({**base, "SMTP_UNENCRYPTED": True})
    for host in ("127.0.0.1", "::1", "localhost"):
        assert Settings.from_mapping({**base, "SMTP_HOST": host})
    with pytest.raises(InvalidParameter, match="MAIL_SENDER"):
        Settings.from_mapping({"MAIL_SENDER": "a@b.org\nBcc: c@d.org"})
    with pytest.raises(InvalidParameter, match="SMTP_PASSWORD is not"):
        Settings.from_mapping({"SMTP_USER": "hushpoll"})
