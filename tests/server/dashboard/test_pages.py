"""The dashboard's pages over HTTP, without a browser: who gets what, and in which form."""

from __future__ import annotations

import json
import re

import pytest
import segno
from flask import render_template_string

from hushpoll_server.charts.figures import fixed, places_of
from hushpoll_server.dashboard.people import administration
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.qualifying.possible import CUT
from sample_survey import encoded
from waiting import wait_until

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"
PASSWORD = "correct horse battery"
PICTURE = 'role="img" aria-labelledby'
PAGES = ["", "/estimates", "/cross-tables", "/jobs"]


@pytest.fixture
def filled(site):
    for name in ("work", "home"):
        published = site.publish(name=name, title=f"Title of {name}")
        site.fill(published, 60)
        site.seal(name)
    return site


def test_every_page_leads_a_stranger_to_the_sign_in_and_back(filled, visit):
    visitor = visit()
    for path in ("/", *(WORK + page for page in PAGES), "/people", "/jobs", "/account", "/nowhere"):
        answer = visitor.get(path)
        assert answer.status_code == 303, path
        assert answer.headers["Location"].startswith("/dashboard/sign-in?next=%2Fdashboard"), path
    filled.services.users.add("ada", "correct horse battery", {"work": "reader"})
    answer = visitor.sign_in("ada", next="/dashboard" + WORK)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard" + WORK)
    assert visitor.get(WORK).status_code == 200


def test_name_of_the_server_alone_leads_to_the_dashboard(site):
    answer = site.get("/")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/")


def test_question_and_confidence_go_along_from_tab_to_tab(filled, visit):
    visitor = visit("ada", work="reader")
    path = "/estimates?attribute=age&confidence=0.9&sort=share"
    for page in ("Cross-tables", "Comparison", "Models", "Data quality", "Report", "Estimates"):
        text = visitor.get(WORK + path).text
        (address,) = re.findall(rf'href="/dashboard{WORK}([^"]*)"[^>]*>{page}</a>', text)
        path = address.replace("&amp;", "&")
        assert "=age" in path
        assert "confidence=0.9" in path
    assert path.split("?")[1] in ("attribute=age&confidence=0.9", "confidence=0.9&attribute=age")
    for plain in ("/estimates?confidence=0.95", "/quality?of=nothing&confidence=2"):
        tabs = visitor.get(WORK + plain).text.partition('<nav class="tabs"')[2].partition("</nav>")
        assert "?" not in tabs[0]


def test_qr_code_holds_the_address_that_the_page_shows(filled, visit):
    visitor = visit("ada", work="reader")
    text = visitor.get(WORK).text
    (address,) = re.findall(r">(http://[^<]*/s/work#sha256=[0-9a-f]{64})<", text)
    drawn = re.compile(r'class="qrline"[^>]* d="([^"]*)"')
    (expected,) = drawn.findall(segno.make_qr(address, error="m").svg_inline(border=4))
    assert drawn.findall(text) == [expected]
    file = visitor.get(f"{WORK}/qr-code.svg")
    assert file.mimetype == "image/svg+xml"
    assert drawn.findall(file.text) == [expected]
    assert file.text.startswith("<?xml")
    assert visitor.get("/surveys/home/versions/1/qr-code.svg").status_code == 404


def test_reports_by_day_are_drawn_listed_and_downloaded(filled, visit):
    visitor = visit("ada", work="reader")
    text = visitor.get(WORK).text
    day = filled.clock.now().strftime("%Y-%m-%d")
    assert f"60 reports were in the results by {day}, 60 of them new on that day." in text
    assert re.search(rf"{day}</th><td[^>]*>60</td><td[^>]*>60</td>", text)
    assert 'aria-labelledby="shows-days"' in text
    rows = visitor.get(f"{WORK}/days.csv").text.splitlines()
    assert rows[0:2] == ['"day","added","reports"', f'"{day}",60,60']
    assert visitor.get(f"{WORK}/days.svg").mimetype == "image/svg+xml"
    assert visitor.get(f"{WORK}/days.exe").status_code == 404
    filled.publish(name="new")
    other = visit("eve", new="reader")
    assert "Reports by day" not in other.get("/surveys/new/versions/1").text
    assert other.get("/surveys/new/versions/1/days.csv").status_code == 404


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        "/dashboard//evil.example",
        "/dashboard/\\x",
        "/api",
    ],
)
def test_sign_in_leads_to_no_other_host(filled, visit, target):
    filled.services.users.add("ada", "correct horse battery", {})
    answer = visit().sign_in("ada", next=target)
    assert answer.headers["Location"] == "/dashboard/"


def test_wrong_password_is_refused_without_saying_what_is_wrong(filled, visit):
    filled.services.users.add("ada", "correct horse battery", {})
    visitor = visit()
    answers = [visitor.sign_in(name, "wrong password") for name in ("ada", "nobody")]
    assert [answer.status_code for answer in answers] == [401, 401]
    assert all("The name or the password is wrong" in answer.text for answer in answers)
    assert visitor.get("/").status_code == 303


def test_account_is_locked_and_so_is_an_address(filled, visit):
    filled.services.users.add("ada", "correct horse battery", {})
    visitor = visit()
    statuses = [visitor.sign_in("ada", "wrong password").status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    assert visitor.sign_in("ada").status_code == 429
    far = {"REMOTE_ADDR": "203.0.113.9"}
    page = visitor.get("/sign-in")
    token = page.text.partition('name="form_token" value="')[2].partition('"')[0]
    for turn in range(51):
        form = {"form_token": token, "name": f"user{turn}", "password": "wrong password"}
        answer = visitor.client.post("/dashboard/sign-in", data=form, environ_overrides=far)
    assert answer.status_code == 429
    assert "Retry-After" not in visitor.get("/sign-in").headers


def test_client_cannot_choose_the_hash_of_its_address(filled, visit):
    visitor = visit()
    page = visitor.get("/sign-in")
    token = page.text.partition('name="form_token" value="')[2].partition('"')[0]
    for turn in range(51):
        answer = visitor.client.post(
            "/dashboard/sign-in",
            data={"form_token": token, "name": f"user{turn}", "password": "wrong password"},
            headers={"X-Hushpoll-Client": f"made-up-{turn}"},
            environ_overrides={"REMOTE_ADDR": "203.0.113.9"},
        )
    assert answer.status_code == 429


@pytest.mark.parametrize(
    "change",
    [{"form_token": ""}, {"form_token": "x"}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_form_of_another_site_does_nothing(filled, visit, change):
    visitor = visit("ada", work="editor")
    headers = {key: value for key, value in change.items() if key == "Sec-Fetch-Site"}
    page = visitor.get(WORK).text
    token = change.get(
        "form_token", page.partition('name="form_token" value="')[2].partition('"')[0]
    )
    answer = visitor.client.post(
        f"/dashboard{WORK}/close", data={"form_token": token, "confirm": "work"}, headers=headers
    )
    assert answer.status_code == 403
    assert filled.services.surveys.state(filled.row()).value == "open"


def test_cookie_is_kept_from_scripts_and_other_sites(make_site, visit):
    filled = make_site(BEHIND_TLS=True)
    filled.services.users.add("ada", "correct horse battery", {})
    cookies = visit(at=filled).sign_in("ada").headers.getlist("Set-Cookie")
    (session,) = [cookie for cookie in cookies if cookie.startswith("hushpoll_session=")]
    for part in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/dashboard"):
        assert part in session


def test_two_users_and_two_surveys_and_no_way_across(filled, visit):
    ada, eve = visit("ada", work="admin"), visit("eve", home="admin")
    job = filled.add_job("export", name="home")
    for own, other, visitor in (("work", "home", ada), ("home", "work", eve)):
        listed = visitor.get("/").text
        assert f"Title of {own}" in listed
        assert f"Title of {other}" not in listed
        for page in PAGES:
            assert visitor.get(f"/surveys/{own}/versions/1{page}").status_code == 200
            refused = visitor.get(f"/surveys/{other}/versions/1{page}")
            assert refused.status_code == 404, page
            assert f"Title of {other}" not in refused.text
        for path in ("estimates/gender.csv", "cross-table.csv?a=gender&b=age"):
            assert visitor.get(f"/surveys/{own}/versions/1/{path}").status_code == 200
            assert visitor.get(f"/surveys/{other}/versions/1/{path}").status_code == 404
        closed = visitor.send(
            f"/surveys/{other}/versions/1/close", f"/surveys/{own}/versions/1", confirm=other
        )
        assert closed.status_code == 404
        page = WORK if own == "work" else "/"
        for path in ("/people", "/people/ada/role"):
            assert visitor.send(path, page, name="x").status_code == 403
    assert job not in ada.get("/jobs").text
    assert job in eve.get("/jobs").text
    assert "a model is kept until it is deleted" in eve.get("/jobs").text
    assert ada.get(f"/jobs/{job}/result").status_code == 404
    assert ada.send(f"/jobs/{job}/cancel", "/").status_code == 404
    assert filled.job(job)["state"] == "queued"


def test_reader_gets_nothing_that_an_editor_or_admin_may(filled, visit):
    reader = visit("ada", work="reader")
    assert reader.send(f"{WORK}/close", WORK, confirm="work").status_code == 403
    assert reader.send(f"{WORK}/jobs", WORK, format="csv", content="records").status_code == 403
    assert reader.get(f"{WORK}/jobs").status_code == 403
    for path in (
        "/people",
        "/people/ada/role",
        "/people/ada/remove",
        "/tokens",
        "/tokens/0/revoke",
    ):
        assert reader.send(path, WORK, survey="*", role="admin", scope="admin").status_code == 403
    assert reader.get("/people").status_code == 403
    assert filled.services.users.named("ada").roles == {"work": "reader"}


def test_role_that_is_taken_away_is_gone_with_the_next_page(filled, visit):
    reader = visit("ada", work="reader")
    assert reader.get(WORK).status_code == 200
    filled.services.users.set_role("ada", "work", None)
    assert reader.get(WORK).status_code == 404


def test_sign_out_ends_the_session_itself(filled, visit):
    reader = visit("ada", work="reader")
    stolen = reader.client.get_cookie("hushpoll_session", path="/dashboard").value
    assert reader.send("/sign-out", WORK).status_code == 303
    thief = visit()
    thief.client.set_cookie("hushpoll_session", stolen, path="/dashboard")
    assert thief.get(WORK).status_code == 303


def test_other_session_is_listed_and_ended(filled, visit):
    first, second = visit("ada", work="reader"), visit()
    second.sign_in("ada")
    (other,) = [
        row.id
        for row in filled.services.sign_in.sessions(filled.services.users.named("ada"))
        if row.id in first.get("/account").text
    ]
    assert first.send(f"/account/sessions/{other}/end", "/account").status_code == 303
    assert second.get(WORK).status_code == 303
    assert first.get(WORK).status_code == 200


def test_user_changes_the_own_password_and_every_other_session_ends(filled, visit):
    visitor, other = visit("ada", work="reader"), visit()
    assert other.sign_in("ada").status_code == 303

    def change(current, new, again=None):
        fields = {"current": current, "new": new, "again": new if again is None else again}
        return visitor.send("/account/password", on="/account", **fields)

    for answer, status, words in (
        (change("wrong", "another long one"), 401, "The current password is wrong"),
        (change(PASSWORD, "another long one", "another"), 422, "The two new passwords differ"),
        (change(PASSWORD, "short"), 422, "at least 12 characters"),
    ):
        assert answer.status_code == status
        assert words in answer.text
    assert other.get("/account").status_code == 200
    assert change(PASSWORD, "another long one").status_code == 303
    assert visitor.get("/account").status_code == 200
    assert other.get("/account").status_code == 303
    assert filled.services.users.verified("ada", PASSWORD) is None
    assert filled.services.users.verified("ada", "another long one") is not None


def test_pages_have_a_strict_policy_and_are_not_kept(filled, visit):
    visitor = visit("ada", every="admin")
    for name in ("work", "home"):  # on a page whose count may rise, a module looks again
        filled.services.surveys.close(filled.row(name))
    filled.clock.advance(7 * 24 * 3600)
    assert visitor.sign_in("ada").status_code == 303
    for path in ("/", *(WORK + page for page in PAGES), "/people", "/jobs", "/account", "/nowhere"):
        answer = visitor.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy, path
        assert "script-src" not in policy, path
        assert policy.startswith("default-src 'none'"), path
        assert answer.headers["Cache-Control"] == "no-store"
        assert "<script" not in answer.text
        assert " style=" not in answer.text
        assert answer.status_code == (404 if path == "/nowhere" else 200)


def test_guarantee_of_a_shuffler_stands_apart_from_what_is_promised(filled, visit):
    page = visit("ada", work="reader").get(WORK).text
    promise, shuffler = page.split("<h3>With a trusted shuffler</h3>")
    assert "What respondents were promised" in promise
    assert "shuffler" not in promise
    assert "No respondent is promised this." in shuffler


def test_start_page_leads_with_the_answers_and_without_any_with_the_link(filled, visit):
    def places(text):
        marks = ('id="respondents"', 'id="findings"', 'id="warnings"', "Report the results")
        return [text.find(mark) for mark in marks]

    link, findings, warnings, report = places(visit("ada", work="analyst").get(WORK).text)
    assert 0 < report < findings < warnings < link
    filled.publish(name="new")
    text = visit("eve", new="reader").get("/surveys/new/versions/1").text
    link, findings, warnings, report = places(text)
    assert 0 < link < warnings
    assert (findings, report) == (-1, -1)
    assert "There are no answers yet." in text


def test_start_page_shows_no_figure_that_is_too_noisy(site, visit):
    site.fill(site.publish(name="work", epsilon="0.5"), 60)
    site.seal("work")
    text = visit("ada", work="analyst").get(WORK).text
    lines = text.partition('<ol class="findings">')[2].partition("</ol>")[0].split("<li")[1:]
    noisy = [line for line in lines if "Too noisy to tell." in line]
    assert noisy
    assert len(noisy) < len(lines)  # what is in clear can be told
    assert all("%" not in line and "<svg" not in line for line in noisy)
    assert all('class="figure"' in line for line in lines if line not in noisy)
    assert "too noisy to tell" in text.partition('<ol class="findings">')[0]


def shown_ends(row, least=0.0, most=1.0):
    """The ends of an interval as pages show them: cut, unless it lies outside as a whole."""
    if row["lower"] > most or row["upper"] < least:
        return row["lower"], row["upper"]
    return max(row["lower"], least), min(row["upper"], most)


def test_estimates_of_the_page_are_those_of_the_api(filled, visit):
    visitor = visit("ada", work="analyst")
    shown = visitor.get(f"{WORK}/estimates?confidence=0.9").text
    answer = filled.get("/api/v1/surveys/work/versions/1/estimates?confidence=0.9").json
    for attribute in answer["attributes"]:
        for row in attribute["categories"]:
            low, high = (f"{100 * one + 0.0:.1f}\u00a0%" for one in shown_ends(row))
            text = f"{low} to {high}".replace("-0.0", "0.0").replace("-", "\N{MINUS SIGN}")
            text = text.replace("\u00a0", "&nbsp;")
            assert text in shown, row
    assert shown.count(CUT) == 1
    assert shown.count(PICTURE) == len(answer["attributes"])


def test_means_and_shares_of_those_who_answered_stand_under_the_table(filled, visit):
    visitor = visit("ada", work="reader")
    shown = visitor.get(f"{WORK}/estimates?attribute=country&confidence=0.8").text
    query = "attribute=country&confidence=0.8"
    answer = filled.get(f"/api/v1{WORK}/ordered-answers?{query}").json
    (group,) = answer["groups"]
    least = min(one["low"] for one in answer["scale"])
    most = max(one["high"] for one in answer["scale"])
    for number in (group["mean"], *group["quantiles"]):
        places = places_of(number["upper"] - number["lower"], most - least)
        low, high = (fixed(one, places) for one in shown_ends(number, least, most))
        assert f"{low} to {high}" in shown
    assert "Shares of those who answered" not in shown
    shown = visitor.get(f"{WORK}/estimates?attribute=age&confidence=0.8").text
    assert "Mean and quantiles" not in shown
    (age,) = filled.get(f"/api/v1{WORK}/answered-shares?confidence=0.8").json["attributes"]
    table = shown.partition("Shares of those who answered")[2]
    for row in age["categories"]:
        low, high = (f"{100 * one + 0.0:.1f}&nbsp;%" for one in shown_ends(row))
        shown = f"{low} to {high}".replace("-0.0", "0.0").replace("-", "\u2212")
        assert shown in table
    assert "none of yours" not in table
    shrunk = visitor.get(f"{WORK}/estimates?attribute=country&estimator=shrunk").text
    assert "Mean and quantiles" not in shrunk


def test_question_that_few_reports_cannot_tell_says_why(site, visit):
    site.fill(site.publish(epsilon="0.3", minimum_batch=5), 20)
    site.seal()
    visitor = visit("ada", work="reader")
    why = "there are too few reports for their noise"
    assert why in visitor.get(f"{WORK}/estimates?attribute=age").text
    assert why not in visitor.get(f"{WORK}/estimates?attribute=gender").text


def test_state_of_a_view_is_in_its_address(filled, visit):
    visitor = visit("ada", work="analyst")
    page = visitor.get(f"{WORK}/estimates?attribute=age&sort=share&confidence=0.99").text
    for chosen in (
        '<option value="age" selected>',
        'value="share" selected',
        '<option value="0.99" selected>',
    ):
        assert chosen in page
    assert page.count(PICTURE) == 1
    # Nor is the choice lost on the way to the shares of groups.
    assert f'href="/dashboard{WORK}/comparison?of=age&amp;confidence=0.99"' in page
    table = visitor.get(f"{WORK}/cross-tables?a=age&b=income").text
    assert "<bdi>age</bdi> by <bdi>income</bdi>" in table


def test_csv_has_no_cell_that_a_spreadsheet_runs(site, visit):
    hostile = ["=cmd()", "+1", "-1", "@x", "<b>bold</b>"]
    question = {"name": "q", "role": "sensitive", "categories": hostile}
    published = site.publish(attributes=[question], protected=None, allow_weak=True)
    reports = [encoded(published, {"q": "=cmd()"}) for _ in range(5)]
    site.send_batch(published, reports)
    visitor = visit("ada", work="reader")
    lines = visitor.get(f"{WORK}/estimates/q.csv").text.splitlines()[1:]
    assert [line.split(",")[2] for line in lines] == [
        '"\'=cmd()"',
        '"\'+1"',
        '"\'-1"',
        '"\'@x"',
        '"<b>bold</b>"',
    ]
    page = visitor.get(f"{WORK}/estimates").text
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>bold" not in page


def test_downloads_have_all_rows_in_each_form(filled, visit):
    visitor = visit("ada", work="reader")
    file = visitor.get(f"{WORK}/estimates/age.csv")
    assert file.mimetype == "text/csv"
    lines = file.text.splitlines()
    assert (
        lines[0] == '"verdict","attribute","category","frequency","standard_error","lower","upper"'
    )
    assert len(lines) == 1 + 8
    for form, kind, start in (
        ("svg", "image/svg+xml", b"<svg"),
        ("png", "image/png", b"\x89PNG"),
        ("json", "application/json", b"{"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK"),
    ):
        file = visitor.get(f"{WORK}/estimates/age.{form}")
        assert (file.mimetype, file.data.startswith(start)) == (kind, True)
        assert "attachment" in file.headers["Content-Disposition"]
    assert visitor.get(f"{WORK}/cross-table.xlsx?a=gender&b=age").data.startswith(b"PK")
    page = visitor.get(f"{WORK}/estimates?attribute=age").text
    for form in ("svg", "png", "csv", "xlsx", "json"):
        assert f"/estimates/age.{form}?" in page
    specification = json.loads(visitor.get(f"{WORK}/cross-table.json?a=gender&b=age").data)
    assert len(specification["data"]["values"]) == 2 * 8
    assert visitor.get(f"{WORK}/estimates/age.exe").status_code == 404
    assert visitor.get(f"{WORK}/estimates/nothing.csv").status_code == 404


def test_administrator_adds_a_user_gives_and_takes_a_role_and_removes(filled, visit):
    admin = visit("root", every="admin")
    form = {"name": "bob", "password": "another long password", "survey": "work", "role": "reader"}
    assert admin.send("/people", "/people", **form).status_code == 303
    users = filled.services.users
    assert users.named("bob").roles == {"work": "reader"}
    assert (
        admin.send("/people/bob/role", "/people", survey="home", role="editor").status_code == 303
    )
    assert admin.send("/people/bob/role", "/people", survey="work", role="none").status_code == 303
    assert users.named("bob").roles == {"home": "editor"}
    people = admin.get("/people").text
    # The button comes to sight once its name is opened, so no single press removes a user.
    before = people[: people.index('action="/dashboard/people/bob/remove"')]
    opened = before.rpartition("<details")[2]
    assert opened.startswith(' class="final"><summary>Remove')
    assert "</details>" not in opened
    assert admin.send("/people/bob/remove", "/people").status_code == 303
    assert [user.name for user in users.all()] == ["root"]
    assert admin.send("/people/root/remove", "/people").status_code == 422
    assert admin.send("/people/root/role", "/people", survey="*", role="none").status_code == 422
    assert "added-user" in admin.get("/people").text


def test_surveys_of_roles_and_tokens_are_chosen_from_a_list(filled, visit, monkeypatch):
    admin = visit("root", every="admin")
    text = admin.get("/people").text
    assert '<select name="survey" aria-label="Survey for root" required>' in text
    assert text.count('<option value="work">Title of work</option>') == 3
    assert '<option value="*">every survey</option>' in text
    monkeypatch.setattr(administration, "MOST_CHOICES", 1)
    text = admin.get("/people").text
    assert '<datalist id="all-surveys">' in text
    assert text.count('<option value="work">Title of work</option>') == 1


def test_role_in_a_survey_that_is_not_there_is_refused(filled, visit):
    visitor = visit("root", every="admin")
    answer = visitor.send(
        "/people", on="/people", name="bob", password=PASSWORD, survey="nowhere", role="reader"
    )
    assert answer.status_code == 422
    assert "its surveys are: home, work" in answer.text
    visit("ada", work="reader")
    given = visitor.send("/people/ada/role", on="/people", survey="nowhere", role="reader")
    assert given.status_code == 422
    assert [user.name for user in filled.services.users.all()] == ["ada", "root"]


def test_issued_token_is_shown_once_and_bound(filled, visit):
    admin = visit("root", every="admin")
    page = admin.send("/tokens", "/people", label="script", scope="read", surveys="work")
    token = page.text.partition("<code>hp_")[2].partition("</code>")[0]
    headers = {"Authorization": f"Bearer hp_{token}"}
    counts = "/api/v1/surveys/{}/versions/1/counts"
    assert filled.get(counts.format("work"), headers=headers).status_code == 200
    assert filled.get(counts.format("home"), headers=headers).status_code == 403
    assert token not in admin.get("/people").text
    assert admin.send(f"/tokens/{token[:16]}/revoke", "/people").status_code == 303
    assert filled.get(counts.format("work"), headers=headers).status_code == 401


def test_editor_closes_a_survey_whose_name_is_typed(filled, visit):
    editor = visit("ada", work="editor")
    assert editor.send(f"{WORK}/close", WORK, confirm="wrok").status_code == 422
    assert editor.send(f"{WORK}/close", WORK, confirm="work").status_code == 303
    assert filled.services.surveys.state(filled.row()).value == "closing"
    page = editor.get(WORK).text
    assert "The survey is over, and its page says so" in page
    assert "can answer" not in page
    line = filled.services.actions.newest(1)[0]
    assert (line.actor, line.act, line.survey) == ("user:ada", "closed", "work")


def test_editor_closes_a_survey_at_once(filled, visit):
    editor = visit("ada", work="editor")
    at_once = {"confirm": "work", "at-once": "yes"}
    assert editor.send(f"{WORK}/close", WORK, **at_once).status_code == 303
    assert filled.services.surveys.state(filled.row()).value == "closed"


def test_analyst_asks_for_an_export_fetches_it_and_the_log_knows(filled, visit):
    analyst = visit("ada", work="analyst")
    asked = analyst.send(f"{WORK}/jobs", f"{WORK}/jobs", format="csv", content="records")
    assert asked.status_code == 303
    filled.run_jobs()
    page = analyst.get(f"{WORK}/jobs").text
    address = page.partition('href="/dashboard/jobs/')[2].partition('"')[0]
    file = analyst.get(f"/jobs/{address}")
    assert file.status_code == 200
    assert file.data.count(b"\n") == 61
    acts = [line.act for line in filled.services.actions.newest(2)]
    assert acts == ["fetched-export", "asked-for-export"]


def test_page_says_when_there_is_nothing_to_show_yet(site, visit):
    site.publish(name="few")
    site.publish(name="daily", release="daily")
    visitor = visit("ada", every="reader")
    for name, words in (
        ("few", "fewer than its minimum batch"),
        ("daily", "nothing is released yet"),
    ):
        for page in ("estimates", "cross-tables"):
            answer = visitor.get(f"/surveys/{name}/versions/1/{page}")
            assert answer.status_code == 200
            assert words in answer.text
            assert PICTURE not in answer.text


def test_first_page_leads_an_administrator_to_the_first_survey(site, visit):
    assert "hushpoll survey publish" in visit("root", every="admin").get("/").text
    assert "An administrator gives you a role" in visit("ada").get("/").text


def test_page_of_a_survey_that_is_over_says_that_all_is_released(site, visit):
    site.fill(site.publish(release="immediate"), 3)
    visitor = visit("ada", work="reader")
    assert "results include reports soon after they arrive" in visitor.get(WORK).text
    site.close()
    site.services.sealing.sweep(site.services.surveys.now())
    page = visitor.get(WORK).text
    assert "the results are final" in page
    assert "soon after they arrive, at least" not in page


def test_page_of_a_survey_that_is_not_open_yet_says_from_when_it_can_be_answered(site, visit):
    site.publish(opens="2026-03-05T00:00:00Z")
    page = visit("ada", work="reader").get(WORK).text
    assert re.search(r"Nobody can answer before <time[^>]*>2026-03-05 UTC", page)


def test_page_of_a_token_survey_counts_no_tokens_before_it_is_over(site, visit):
    site.publish(submission="token", release="daily")
    site.tokens(3)
    assert "not shown before the survey is over" in visit("ada", work="reader").get(WORK).text


def test_drawing_starts_while_a_user_types_a_password(make_site):
    site = make_site(own=True)
    assert not site.services.drawing.running
    assert site.client().get("/dashboard/sign-in").status_code == 200
    wait_until(lambda: site.services.drawing.running)


@pytest.mark.parametrize("name", ["projected", "shrunk"])
def test_estimator_without_an_interval_shows_none_and_says_why(filled, visit, name):
    visitor = visit("ada", work="reader")
    page = visitor.get(f"{WORK}/estimates?attribute=age&estimator={name}").text
    assert ESTIMATOR_TERMS[name].no_interval in page
    assert "95\u00a0% interval" not in page
    assert page.count(PICTURE) == 1
    answer = filled.get(f"/api/v1{WORK}/estimates?estimator={name}").json
    (age,) = [one for one in answer["attributes"] if one["name"] == "age"]
    lines = visitor.get(f"{WORK}/estimates/age.csv?estimator={name}").text.splitlines()
    assert lines[0] == '"verdict","attribute","category","frequency"'
    shares = [float(line.rpartition(",")[2]) for line in lines[1:]]
    assert shares == [row["frequency"] for row in age["categories"]]


@pytest.mark.parametrize(
    ("share", "query", "names"),
    [
        ("row", "of=place&given=level", ("group", "category")),
        ("column", "of=level&given=place", ("category", "group")),
    ],
)
def test_cross_table_has_shares_of_rows_and_of_columns(site, visit, share, query, names):
    domains = {"level": ["low", "high"], "place": ["north", "south", "west"]}
    plain = [
        {"name": name, "role": "plain", "categories": words} for name, words in domains.items()
    ]
    question = {"name": "q", "role": "sensitive", "categories": ["no", "yes"]}
    published = site.publish(attributes=[question, *plain], protected=None, allow_weak=True)
    pairs = [(a, b) for a in domains["level"] for b in domains["place"]] + [("low", "west")] * 3
    site.send_batch(
        published, [encoded(published, {"q": "no", "level": a, "place": b}) for a, b in pairs]
    )
    visitor, view = visit("ada", work="analyst"), f"a=level&b=place&share={share}"
    page = visitor.get(f"{WORK}/cross-tables?{view}").text
    assert page.count(PICTURE) == 1
    answer = site.get(f"/api/v1{WORK}/conditional-shares?{query}").json["shares"]
    assert all(f"{100 * one['value']:.1f}&nbsp;%" in page for one in answer)
    lines = visitor.get(f"{WORK}/cross-table.csv?{view}").text.splitlines()[1:]
    rows = [[json.loads(cell or "null") for cell in line.split(",")] for line in lines]
    expected = {tuple(one[name] for name in names): one["value"] for one in answer}
    assert {(a, b): value for _, a, b, value, *_ in rows} == expected
    assert [a for _, a, *_ in rows] == ["low"] * 3 + ["high"] * 3


def test_cross_table_says_of_which_shares_the_reports_cannot_tell(filled, visit):
    visitor = visit("ada", work="reader")
    answer = filled.get(f"/api/v1{WORK}/conditional-shares?of=gender&given=age").json["shares"]
    unknown = sum(one["value"] is None for one in answer)
    assert unknown
    page = visitor.get(f"{WORK}/cross-tables?a=age&b=gender&share=row").text
    assert page.count(">cannot tell</span>") == unknown
    assert "These estimates are too noisy to tell anything." in page
    assert "The largest estimate" not in page
    assert visitor.get(f"{WORK}/cross-table.csv?a=age&b=gender&share=row").status_code == 200


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("estimates?attribute=nothing", "attribute is &#39;nothing&#39; in this address"),
        ("estimates?confidence=abc", "choose one of 0.8, 0.9, 0.95, 0.99"),
        ("estimates?sort=-1", "choose one of order, share, name"),
        ("estimates?estimator=best", "choose one of unbiased, projected, shrunk"),
        ("estimates/age.csv?confidence=2", "choose one of 0.8, 0.9, 0.95, 0.99"),
        ("cross-tables?a=nothing", "a is &#39;nothing&#39; in this address"),
        ("cross-tables?share=<b>", "share is &#39;&lt;b&gt;&#39; in this address"),
        ("cross-table.csv?a=age&b=nothing", "b is &#39;nothing&#39; in this address"),
    ],
)
def test_wrong_word_in_an_address_is_named_with_those_to_choose_from(filled, visit, path, words):
    answer = visit("ada", work="reader").get(f"{WORK}/{path}")
    assert (answer.status_code, answer.mimetype) == (422, "text/html")
    assert words in answer.text


def test_jobs_page_shows_how_far_a_job_is_and_loads_a_module_only_while_it_runs(filled, visit):
    analyst, reader = visit("ada", work="analyst"), visit("eve", home="analyst")
    store, job = filled.services.job_store, filled.add_job("export")
    step = '{"text": "writes the file", "done": 20, "total": 60, "unit": "records"}'
    now = filled.services.surveys.now()
    assert store.claim("worker", now=now, lease=30, attempts=3, running=2) == job
    assert store.note(job, "worker", 1, step)
    for path in (f"{WORK}/jobs", "/jobs?state=running&kind=export"):
        page = analyst.get(path)
        assert "writes the file: 20 of 60 records" in page.text
        assert '<progress class="reached" max="60" value="20"' in page.text
        assert "dashboard/live.js" in page.text
        policy = page.headers["Content-Security-Policy"]
        assert "script-src 'self'; connect-src 'self'" in policy
        assert "unsafe" not in policy
    assert "There is no such job" in analyst.get(f"{WORK}/jobs?state=done").text
    assert analyst.get(f"{WORK}/jobs?state=x").status_code == 422
    assert "writes the file" not in reader.get("/jobs").text
    filled.clock.advance(31)
    assert "Its worker was not heard of lately" in analyst.get(f"{WORK}/jobs").text
    filled.run_jobs()
    page = analyst.get(f"{WORK}/jobs")
    assert "<progress" not in page.text
    assert "script" not in page.headers["Content-Security-Policy"]


def test_operations_are_shown_to_administrators_of_every_survey_alone(filled, visit):
    visitor = visit("ada", every="admin")
    answer = visitor.get("/operations")
    assert answer.status_code == 200
    assert "120 are sealed" in answer.text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert 'href="/dashboard/operations"' in visitor.get("/").text
    other = visit("bob", work="admin")
    assert other.get("/operations").status_code == 403
    assert "operations" not in other.get("/").text


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"a": "Your gender?"}, "Too noisy: Your gender?"),
        ({"a": "Your gender?", "b": "job"}, "Too noisy: Your gender?; job."),
        ({one: f"{one}?" for one in "abcdef"}, "Too noisy: a?; b?; c?; d? and 2 more."),
    ],
)
def test_questions_that_are_too_noisy_keep_their_own_marks(site, names, said):
    verdict = {"says": "informative", "sentence": "S.", "too_noisy": [*names], "respondents": None}
    page = '{% import "dashboard/verdict.html" as verdict with context %}{{ verdict.says(told) }}'
    with site.app.test_request_context("/dashboard/"):
        html = render_template_string(page, names=names, told=verdict)
    text = " ".join(re.sub(r"<[^>]+>", "", html).split())
    assert f"told. {said}Why" in text or f"told. {said} Why" in text
