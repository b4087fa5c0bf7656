"""What editors and admins do with a survey that collects: origins, tokens, and its records."""

from __future__ import annotations

import io
import re

import pytest

from mail_server import MailServer

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"
PEOPLE = f"{WORK}/invitations"
MAIL = {
    "INVITATION_SEED": "5e" * 32,
    "SMTP_HOST": "127.0.0.1",
    "SMTP_SECURITY": "none",
    "MAIL_SENDER": "team@example.com",
    "MAIL_RATE": 100_000,
    "PUBLIC_URL": "https://polls.example.com",
    "ADDRESS_KEY": "a7" * 32,
}
IN_TWO_LANGUAGES = {
    "protected": None,
    "attributes": [{"name": "a", "role": "sensitive", "categories": ["no", "yes"]}],
    "language": "en",
    "translations": {
        "de": {"title": "Arbeit", "attributes": {"a": {"categories": ["nein", "ja"]}}}
    },
}


def test_editor_names_the_origins_whose_pages_may_answer(site, visit):
    site.publish()
    visitor = visit("ada", work="editor")
    assert "No web page but the hosted one may send reports" in visitor.get(WORK).text
    answer = visitor.send(
        f"{WORK}/origins", on=WORK, origins="https://a.example\r\n\r\n https://b.example "
    )
    assert answer.status_code == 303
    assert site.get("/api/v1/surveys/work/origins").json["origins"] == [
        "https://a.example",
        "https://b.example",
    ]
    assert "https://a.example\nhttps://b.example</textarea>" in visitor.get(WORK).text
    refused = visitor.send(f"{WORK}/origins", on=WORK, origins="*")
    assert refused.status_code == 422
    assert "no origin as browsers send it" in refused.text
    cleared = visitor.send(f"{WORK}/origins", on=WORK, origins="")
    assert cleared.status_code == 303
    assert site.get("/api/v1/surveys/work/origins").json["origins"] == []


def test_editor_gets_a_file_of_links_each_worth_one_report(site, visit):
    published = site.publish(submission="token")
    visitor = visit("ada", work="editor")
    answer = visitor.send(f"{WORK}/tokens", on=WORK, count="3")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'attachment; filename="work-links.txt"'
    links = answer.text.splitlines()
    tokens = [link.rpartition("token=")[2] for link in links]
    assert len(set(tokens)) == 3
    assert all(f"/s/work#sha256={published.digest}&token=" in link for link in links)
    reports = [site.send(published, token=token).status_code for token in [*tokens, tokens[0]]]
    assert reports == [201, 201, 201, 401]
    lines = site.services.actions.newest(1)
    assert (lines[0].act, lines[0].subject) == ("issued-respondent-tokens", "3")


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "", "many", "99999999", "٣"])
def test_wrong_number_of_tokens_is_refused_with_its_interval(site, visit, count):
    site.publish(submission="token")
    answer = visit("ada", work="editor").send(f"{WORK}/tokens", on=WORK, count=count)
    assert answer.status_code == 422
    assert "outside [1, " in answer.text


def test_open_survey_has_no_tokens_to_issue(site, visit):
    site.publish()
    visitor = visit("ada", work="editor")
    assert "Tokens for respondents" not in visitor.get(WORK).text
    answer = visitor.send(f"{WORK}/tokens", on=WORK, count="1")
    assert answer.status_code == 422
    assert "takes no such tokens" in answer.text


def test_admin_deletes_the_records_of_a_survey_that_is_over(site, visit):
    site.fill(site.publish(), 20)
    visitor = visit("ada", work="admin")
    early = visitor.send(f"{WORK}/delete-records", on=WORK, confirm="work")
    assert early.status_code == 409
    assert "Delete the records" not in visitor.get(WORK).text
    site.services.surveys.close(site.row())
    site.clock.advance(30 * 24 * 3600)
    site.services.sealing.sweep(site.services.surveys.now())
    assert visitor.sign_in("ada").status_code == 303
    page = visitor.get(WORK).text
    assert "Delete the records" in page
    assert "The server keeps the records until they are deleted" in page
    untyped = visitor.send(f"{WORK}/delete-records", on=WORK, confirm="wrok")
    assert untyped.status_code == 422
    assert site.get(f"/api/v1{WORK}/records").status_code == 200
    assert visitor.send(f"{WORK}/delete-records", on=WORK, confirm="work").status_code == 303
    assert site.get(f"/api/v1{WORK}/records").status_code == 410
    assert "The records of this version were deleted" in visitor.get(WORK).text
    assert "<strong>20</strong> reports" in visitor.get(WORK).text


def test_reader_and_analyst_may_do_none_of_it(site, visit):
    site.publish(submission="token")
    for name, role in (("rea", "reader"), ("ana", "analyst"), ("edi", "editor")):
        visitor = visit(name, work=role)
        allowed = {"editor": {"origins", "tokens"}}.get(role, set())
        for path in ("origins", "tokens", "delete-records"):
            answer = visitor.send(f"{WORK}/{path}", on="/account", count="1", confirm="work")
            assert (answer.status_code == 403) == (path not in allowed), (role, path)


def test_count_of_an_immediate_survey_is_looked_at_again_and_of_a_daily_one_is_not(site, visit):
    site.publish()
    site.publish(name="daily", release="daily")
    visitor = visit("ada", work="reader", daily="reader")
    immediate = visitor.get(WORK)
    assert 'data-goes-on="3"' in immediate.text
    assert "script-src 'self'" in immediate.headers["Content-Security-Policy"]
    daily = visitor.get("/surveys/daily/versions/1")
    assert "data-goes-on" not in daily.text
    assert "script-src" not in daily.headers["Content-Security-Policy"]


def test_editor_invites_by_mail_and_sees_both_counts(make_site, visit):
    with MailServer() as post:
        site = make_site(**MAIL, SMTP_PORT=post.port)
        site.publish(submission="invited", **IN_TWO_LANGUAGES)
        visitor = visit("ada", at=site, work="editor")
        people = (io.BytesIO(b"address,nme\na@example.org,A\n"), "people.csv")
        refused = visitor.send(
            f"{PEOPLE}/mail",
            on=PEOPLE,
            what="send",
            people=people,
            **{"texts.en.subject": "Hi {name}", "texts.en.body": "Take part: {link}"},
        )
        assert refused.status_code == 422
        assert "did you mean &#39;name&#39;?" in refused.text
        assert 'value="Hi {name}"' in refused.text  # the form comes back as it was sent
        people = (io.BytesIO(b"address,name\na@example.org,A\nb@example.org,\n"), "people.csv")
        asked = visitor.send(f"{PEOPLE}/mail", on=PEOPLE, what="send", people=people)
        assert asked.status_code == 303, asked.text
        site.run_jobs()
        assert len(post.kept.mails) == 2
        for page in (visitor.get(WORK).text, visitor.get(PEOPLE).text):
            assert re.search(r"2(</strong>)? invited, (<strong>)?0(</strong>)? redeemed", page)
        assert "By mail: 2 sent, 0 not yet, 0 refused" in page
        again = visitor.send(f"{PEOPLE}/reminders", on=PEOPLE, what="send")
        assert (again.status_code, "within the last hour" in again.text) == (422, True)
        site.clock.advance(3601)
        assert visitor.send(f"{PEOPLE}/reminders", on=PEOPLE, what="send").status_code == 303
        site.run_jobs()
        assert len(post.kept.mails) == 4
    reader = visit("eve", at=site, work="analyst")
    assert reader.get(PEOPLE).status_code == 403
    assert "Send invitations" not in reader.get(WORK).text
    assert reader.send(f"{PEOPLE}/reminders", on=WORK).status_code == 403


def test_own_texts_are_shown_as_mails_and_sent_as_they_were_shown(make_site, visit):
    with MailServer() as post:
        site = make_site(**MAIL, SMTP_PORT=post.port)
        published = site.publish(submission="invited", operator="The team", **IN_TWO_LANGUAGES)
        visitor = visit("ada", at=site, work="editor")
        page = visitor.get(PEOPLE).text
        assert "Invitation: {title}" in page  # ours, to be changed
        assert "Erinnerung: {title}" in page
        own = {
            "texts.en.subject": "{name}, please",
            "texts.en.body": "{greeting}\r\n\r\n<b>{link}</b>\r\n",
            "texts.de.subject": "",
            "texts.de.body": "",
        }
        shown = visitor.send(f"{PEOPLE}/mail", on=PEOPLE, what="preview", **own)
        assert shown.status_code == 200
        link = f"https://polls.example.com/s/work#sha256={published.digest}&amp;invitation=the-"
        assert f"Hello Ada Lovelace,\n\n&lt;b&gt;{link}" in shown.text
        assert "The team &lt;team@example.com&gt;" in shown.text
        assert "Ada Lovelace, please" in shown.text
        assert "Guten Tag Ada Lovelace" in shown.text  # ours, where the form is empty
        assert 'value="{name}, please"' in shown.text
        assert not site.scalars("SELECT count(*) FROM addressees")[0]
        wrong = visitor.send(
            f"{PEOPLE}/mail",
            on=PEOPLE,
            what="preview",
            **{**own, "texts.en.body": "{greeting}"},
        )
        assert wrong.status_code == 422
        beside = wrong.text.index('id="refused-fault"')
        assert wrong.text.index('name="texts.en.body"') < beside
        assert beside < wrong.text.index('name="texts.de.subject"')
        people = (
            io.BytesIO(b"address,name,language\na@example.org,A,\nb@example.org,B,de\n"),
            "p.csv",
        )
        asked = visitor.send(f"{PEOPLE}/mail", on=PEOPLE, what="send", people=people, **own)
        assert asked.status_code == 303, asked.text
        site.run_jobs()
        english, german = sorted(post.kept.mails, key=lambda mail: mail["To"])
        assert english["Subject"] == "A, please"
        assert english.get_content().startswith("Hello A,")
        assert german["Subject"].startswith("Einladung: ")


def test_server_without_mail_shows_the_texts_and_says_what_is_missing(make_site, visit):
    site = make_site(INVITATION_SEED="5e" * 32)
    site.publish(submission="invited")
    visitor = visit("ada", at=site, work="editor")
    page = visitor.get(PEOPLE).text
    assert "smtp_host, mail_sender, public_url, address_key" in page
    assert "Send invitations" not in page
    assert "mail program" in page
    shown = visitor.send(f"{PEOPLE}/reminders", on=PEOPLE, what="preview")
    assert "Reminder: " in shown.text
