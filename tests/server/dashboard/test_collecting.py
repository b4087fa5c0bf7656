"""What editors and admins do with a survey that collects: origins, tokens, and its records."""

from __future__ import annotations

import io

import pytest

from mail_server import MailServer

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"


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
        site = make_site(
            INVITATION_SEED="5e" * 32,
            SMTP_HOST="127.0.0.1",
            SMTP_PORT=post.port,
            SMTP_SECURITY="none",
            MAIL_SENDER="team@example.com",
            MAIL_RATE=100_000,
            PUBLIC_URL="https://polls.example.com",
            ADDRESS_KEY="a7" * 32,
        )
        site.publish(submission="invited")
        visitor = visit("ada", at=site, work="editor")
        people = (io.BytesIO(b"address,nme\na@example.org,A\n"), "people.csv")
        refused = visitor.send(f"{WORK}/invitations/mail", on=WORK, people=people)
        assert refused.status_code == 422
        assert "did you mean &#39;name&#39;?" in refused.text
        people = (io.BytesIO(b"address,name\na@example.org,A\nb@example.org,\n"), "people.csv")
        asked = visitor.send(f"{WORK}/invitations/mail", on=WORK, people=people)
        assert asked.status_code == 303, asked.text
        site.run_jobs()
        assert len(post.kept.mails) == 2
        page = visitor.get(WORK).text
        assert "2 invited, 0 redeemed. By mail: 2 sent, 0 not yet, 0 refused" in page
        assert visitor.send(f"{WORK}/invitations/reminders", on=WORK).status_code == 303
        site.run_jobs()
        assert len(post.kept.mails) == 4
    reader = visit("eve", at=site, work="analyst")
    assert "Send invitations" not in reader.get(WORK).text
    assert reader.send(f"{WORK}/invitations/reminders", on=WORK).status_code == 403
