"""The dashboard in Chromium: narrow and wide, light and dark, by keyboard, without scripts.

A click returns before the next page has come, so all that follows one is awaited by `expect`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from dashboard_browser import COLOURS, WIDER, sign_in, violations, windows
from dashboard_server import (
    FEW,
    HOSTILE,
    MARKUP,
    PASSWORD,
    SENSITIVE,
    SMALL,
    DashboardServer,
    dashboard_server,
)
from hushpoll_shared.tables.top_rows import MOST_ROWS
from waiting import LONGEST_SECONDS

WORK = "/surveys/work-and-health/versions/1"
LOAN = "/surveys/loan/versions/1"
OVER = "/surveys/over/versions/1"
LARGE, ODD = "/surveys/large/versions/1", "/surveys/odd/versions/1"
PAGES = [
    "/",
    WORK,
    f"{WORK}/estimates",
    f"{WORK}/cross-tables?a=health&b=income",
    f"{WORK}/cross-tables?a=income&b=region&share=row",
    f"{WORK}/estimates?confidence=abc",
    f"{WORK}/estimates?attribute=health&among=smoker",
    f"{WORK}/report",
    f"{WORK}/report-file?rows=health&columns=income",
    f"{OVER}/report",
    "/surveys/daily/versions/1/report",
    f"{WORK}/jobs",
    f"{WORK}/models",
    f"{LOAN}/models",
    f"{LOAN}/models?learner=functional-mechanism",
    f"{WORK}/regressions",
    f"{ODD}/regressions",
    f"{WORK}/fairness",
    f"{LOAN}/fairness",
    f"{LOAN}/fairness?groups=education",
    f"{LOAN}/quality",
    f"{WORK}/weighted?of=smoker&by=region&a0=40&a1=20&a2=20&a3=20",
    "/surveys/daily/versions/1/quality",
    "/curve",
    f"{LARGE}/estimates?sort=share",
    f"{LARGE}/cross-tables?a=kind&b=place",
    ODD,
    f"{ODD}/estimates",
    f"{ODD}/cross-tables",
    f"{ODD}/comparison?of=odd&beside=groups%20of%20other",
    "/surveys/work-and-health/versions/1/comparison?of=health&beside=groups%20of%20smoker",
    "/surveys/work-and-health/versions/1/results/independence?a=health&b=smoker",
    "/surveys/few/versions/1/estimates",
    "/surveys/daily/versions/1",
    "/surveys/daily/versions/1/cross-tables",
    "/jobs",
    "/people",
    "/operations",
    "/account",
    "/nowhere",
    "/../docs",  # which stands beside the dashboard
]
RESULTS = b"""protocol,split,epsilon,seed,accuracy,SPD
GRR,uniform,1,0,0.70,-0.20
GRR,uniform,1,1,0.72,-0.10
GRR,uniform,4,0,0.80,-0.10
GRR,uniform,4,1,0.82,-0.12
OUE,uniform,1,0,0.75,-0.15
OUE,uniform,4,0,0.85,-0.05
NonDP,none,inf,0,0.90,-0.05
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[DashboardServer]:
    with dashboard_server(tmp_path_factory.mktemp("dashboard")) as running:
        yield running


@pytest.fixture
def open_page(server, browser):
    """Open a page in a window of its own; at the end, nothing was wrong in any of them."""
    with windows(server, browser) as open_page:
        yield open_page


def test_user_signs_in_reads_estimates_cross_tabulates_and_signs_out(server, open_page):
    page = open_page(f"{WORK}/estimates")
    page.get_by_label("Name").fill("reader")
    page.get_by_label("Password").fill("not the password")
    page.locator("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong")
    sign_in(page, "reader")
    expect(page).to_have_url(f"{server.url}/dashboard{WORK}/estimates")
    expect(page.locator(".result > .asked")).to_have_text(
        [
            "How is your health in general?",
            "Do you smoke?",
            "Monthly income of your household?",
            "Where do you live?",
        ]
    )
    expect(page.locator("figure [role=img]")).to_have_count(4)
    page.locator("#attribute").select_option(label="Do you smoke?")
    page.get_by_text("More", exact=True).click()
    page.locator("#sort").select_option("share")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(
        "**attribute=smoker&among=&sort=share&detail=*&estimator=unbiased&confidence=0.95**"
    )
    shared = page.url
    expect(page.locator("figure [role=img]")).to_have_count(1)
    rows = page.get_by_role("region", name="Table of Do you smoke?").locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("link", name="Cross-tables").click()
    page.locator("#a").select_option("smoker")
    page.locator("#b").select_option("region")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".asked")).to_have_text("Do you smoke? by Where do you live?")
    expect(page.get_by_role("region", name="Table of shares").locator("td")).to_have_count(8)
    expect(page.get_by_role("link", name="Users and tokens")).to_have_count(0)
    page.get_by_role("link", name="Surveys").first.click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(shared)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, "reader")
    expect(page).to_have_url(shared)


def test_every_page_is_accessible_and_fits_a_narrow_and_a_wide_window(open_page):
    """A theme changes colours and nothing else, so the dark one is asked about colours alone.

    scripts/walks screenshots asks for every rule in both themes and widths.
    """
    page = open_page(viewport={"width": 360, "height": 800})
    found = {}

    def look(path):
        found[path] = violations(page)
        page.set_viewport_size({"width": 1440, "height": 800})
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(WIDER) <= 0, path
        found[f"{path} dark"] = violations(page, COLOURS)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate(WIDER) <= 0, path
        assert page.evaluate("document.title").endswith("hushpoll"), path

    look("sign-in")
    sign_in(page)
    origin = page.url.rstrip("/")
    for path in PAGES:
        page.goto(origin + path)
        look(path)
    assert {path: rules for path, rules in found.items() if rules} == {}


# Of each band: whether its set and its dot are within the window, and how wide its axis is.
DRAWN = """() => [...document.querySelectorAll(".bands .band")].map((band) => {
  const inside = [...band.querySelectorAll(".set, circle")].every((one) => {
    const box = one.getBoundingClientRect();
    return box.left >= -6 && box.right <= innerWidth + 6;
  });
  return [inside, band.getBoundingClientRect().width / innerWidth];
})"""


def test_pictures_fill_a_narrow_window_and_drafts_are_short_and_folded(server, open_page):
    page = sign_in(open_page(viewport={"width": 360, "height": 800}))
    origin = page.url.rstrip("/")
    for path in (f"{WORK}/estimates", f"{WORK}/comparison?of=health&beside=groups+of+smoker"):
        page.goto(origin + path)
        drawn = page.evaluate(DRAWN)
        assert len(drawn) > 4
        assert all(inside for inside, _ in drawn), path
        assert min(width for _, width in drawn) > 0.85, path
        fields = page.locator(".filters select:visible, .filters input:visible")
        expect(fields).to_have_count(2)
    for number in (1, 4, 10):
        questions = [
            {"name": f"q{n}", **SENSITIVE, "question": f"Question {n}?", "categories": ["a", "b"]}
            for n in range(number)
        ]
        draft = {"name": f"of-{number}", "title": "Many", "epsilon": "4", "attributes": questions}
        path = f"/drafts/{server.begin_draft({'version': 1, **draft})}"
        for size in ({"width": 360, "height": 800}, {"width": 1440, "height": 900}):
            page.set_viewport_size(size)
            page.goto(f"{origin}{path}")
            expect(page.locator("details.question:not([open])")).to_have_count(number)
            expect(page.locator("#draft-form > details[open]")).to_have_count(0)
            expect(page.locator("[data-live=page] iframe")).to_be_visible()  # it comes by itself
            height = page.evaluate("document.documentElement.scrollHeight")
            # With each question below ten by so much less: a folded one has 40 pixels and more.
            assert height <= 3000 - 40 * (10 - number), (number, size)


# Where words of a sentence begin on the screen, in pixels from the left.
PLACES = """(node, words) => words.map((word) => {
  const at = node.textContent.indexOf(word), range = document.createRange();
  range.setStart(node.firstChild, at);
  range.setEnd(node.firstChild, at + word.length);
  return range.getBoundingClientRect().left;
})"""


def test_markup_formulas_and_right_to_left_texts_are_shown_as_they_are(open_page):
    page = sign_in(open_page())
    for path in (ODD, f"{ODD}/estimates", f"{ODD}/cross-tables"):
        page.goto(page.url.partition("/dashboard")[0] + "/dashboard" + path)
        expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
        expect(page.locator("main b, main script")).to_have_count(0)
    page.get_by_role("link", name="Estimates").click()
    expect(page.locator("#t-0 tbody th")).to_have_text(HOSTILE)
    expect(page.locator("figure").first.locator(".label")).to_have_text(HOSTILE)
    # The number that follows a name in Arabic is shown after it.
    words, name, number = page.locator("#shows-1 bdi").evaluate(PLACES, ["is that", "شاهد", "78"])
    assert words < name < number


def test_five_hundred_categories_have_a_cut_picture_and_the_largest_in_the_table(open_page):
    page = sign_in(open_page(f"{LARGE}/estimates"))
    expect(page.get_by_role("heading", name="Too noisy to tell")).to_be_visible()
    expect(page.get_by_text("The picture shows 50 of 500 categories")).to_be_hidden()
    page.get_by_text("Show the estimates of “place” all the same").click()
    expect(page.get_by_text("The picture shows 50 of 500 categories")).to_be_visible()
    page.get_by_text("Table of 500 categories").click()
    rows = page.get_by_role("region", name="Table of place").locator("tbody tr")
    expect(rows).to_have_count(MOST_ROWS + 1)
    expect(rows.last).to_contain_text("The 300 others, with smaller estimates, together")
    page.goto(page.url.replace("estimates", "cross-tables?a=place&b=kind"))
    page.get_by_text("Show the shares all the same").click()
    expect(page.get_by_text("show the first 30 categories of each side")).to_be_visible()
    expect(page.get_by_role("region", name="Table of shares").locator("td")).to_have_count(30 * 30)
    with page.expect_download() as file:
        page.get_by_role("link", name="the CSV file has all of them").click()
    assert len(file.value.path().read_text().splitlines()) == 1 + 500 * 40


def test_page_says_what_to_wait_for(open_page):
    page = sign_in(open_page("/surveys/few/versions/1/estimates"))
    expect(page.get_by_role("heading", name="There are no estimates yet")).to_be_visible()
    expect(page.locator(".empty")).to_contain_text("minimum batch of 100")
    page.goto(page.url.replace("few", "daily"))
    expect(page.locator(".empty")).to_contain_text("The first results come")


def test_missing_page_is_in_the_dashboard_s_style(open_page):
    page = sign_in(open_page("/surveys/nothing/versions/1"))
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.get_by_role("link", name="Back to the surveys").click()
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()


def test_analyst_fits_a_regression_and_reads_it_on_a_phone(server, open_page):
    page = open_page(f"{LOAN}/regressions", viewport={"width": 360, "height": 800})
    sign_in(page, "analyst")
    page.get_by_label("gender").first.check()
    page.get_by_role("button", name="Fit the regression").click()
    expect(page.get_by_text("queued")).to_have_count(1)
    server.work()  # the page is not loaded again by the reader
    expect(page.get_by_text("No job waits or runs.")).to_be_visible()
    page.get_by_role("link", name="Read the regression").click()
    expect(page.locator("[data-verdict]")).to_be_visible()
    # folded where the noise happens to be large
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    picture = page.locator("figure svg[role=img]")
    expect(picture).to_have_count(1)
    box = picture.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    pages = {"light": violations(page)}
    assert page.evaluate(WIDER) <= 0
    page.emulate_media(color_scheme="dark")
    pages["dark"] = violations(page, COLOURS)
    assert pages == {"light": [], "dark": []}


def test_analyst_trains_watches_it_end_compares_and_reads_the_card(server, open_page):
    page = sign_in(open_page(f"{LOAN}/models", viewport={"width": 360, "height": 800}), "analyst")
    for trees in ("3", "5"):
        page.get_by_label("Measure its accuracy").fill("2")
        page.get_by_text("parameters of LightGBM").click()
        page.get_by_label("n_estimators").fill(trees)
        page.get_by_role("button", name="Start the training").click()
        expect(page.get_by_text("queued")).to_have_count(1)
        server.work()  # the page is not loaded again by the reader
        expect(page.get_by_text("No job waits or runs.")).to_be_visible()
        expect(page.get_by_text("queued")).to_have_count(0)
        page.reload()
    models = page.get_by_role("region", name="Trainings")
    expect(models.locator("tbody tr")).to_have_count(2)
    for box in models.get_by_role("checkbox").all():
        box.check()
    pages = {"models": violations(page)}
    page.get_by_role("button", name="Compare the chosen models").click()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    expect(page.locator("figure [role=img]")).to_have_count(1)
    differ = page.get_by_role("region", name="Settings that differ")
    expect(differ.get_by_role("row", name="n_estimators")).to_be_visible()
    pages["compare"] = violations(page)
    assert page.evaluate(WIDER) <= 0
    with page.expect_download() as file:
        page.get_by_role("link", name="CSV").click()
    assert "accuracy" in file.value.path().read_text()
    page.get_by_role("link", name="Model 1").click()
    expect(page.get_by_role("heading", name="Model card")).to_be_visible()
    expect(page.get_by_text("everybody, the server included")).to_be_visible()
    pages["card"] = violations(page)
    assert page.evaluate(WIDER) <= 0
    page.set_viewport_size({"width": 1440, "height": 800})
    page.emulate_media(color_scheme="dark")
    pages["dark card"] = violations(page, COLOURS)
    page.goto(f"{server.url}/dashboard/curve")
    results = {"name": "results.csv", "mimeType": "text/csv", "buffer": RESULTS}
    page.get_by_label("results.csv, at most").set_input_files(results)
    page.get_by_role("button", name="Draw the curves").click()
    expect(page.locator("figure svg[role=img]")).to_have_count(2)
    pages["dark curve"] = violations(page, COLOURS)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 360, "height": 800})
    pages["curve"] = violations(page)
    assert page.evaluate(WIDER) <= 0
    with page.expect_download() as file:
        page.get_by_role("link", name="CSV").first.click()
    assert file.value.path().read_text().startswith('"line","metric","epsilon"')
    assert {name: found for name, found in pages.items() if found} == {}


def test_analyst_audits_groups_together_and_reads_what_follows(server, open_page):
    page = sign_in(open_page(f"{LOAN}/fairness", viewport={"width": 360, "height": 800}), "analyst")
    page.locator("#groups").select_option("education")
    page.get_by_role("button", name="Choose").click()
    page.get_by_label("Compare every category of education with").select_option("low")
    page.get_by_label("Parts, a whole number").fill("2")
    page.get_by_role("button", name="Start the audit").click()
    expect(page.get_by_text("queued")).to_have_count(1)
    server.work()  # the page is not loaded again by the reader
    expect(page.get_by_text("No job waits or runs.")).to_be_visible()
    page.get_by_role("link", name="Read the audit").click()
    expect(page.get_by_role("heading", name="What follows, and what does not")).to_be_visible()
    page.locator("#metric").select_option("DI")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**metric=DI**")
    expect(page.locator("figure [role=img]")).to_have_count(1)
    table = page.get_by_role("region", name="Table of fairness")
    expect(table.locator("tbody tr")).to_have_count(3)
    pages = {"audit": violations(page)}
    assert page.evaluate(WIDER) <= 0
    page.set_viewport_size({"width": 1440, "height": 800})
    assert page.evaluate(WIDER) <= 0
    page.emulate_media(color_scheme="dark")
    pages["dark"] = violations(page, COLOURS)
    with page.expect_download() as file:
        page.get_by_role("link", name="CSV").click()
    assert "largest disparity" in file.value.path().read_text()
    assert {name: found for name, found in pages.items() if found} == {}


def test_table_of_three_questions_and_a_refused_form_are_accessible(server, open_page):
    table = server.ask("table", "loan", attributes=["gender", "given", "education"])
    server.work()
    page = open_page(viewport={"width": 360, "height": 800})
    sign_in(page)
    origin = page.url.rstrip("/")
    page.goto(f"{origin}{LOAN}/tables/{table}")
    page.get_by_label("Only people who answered to education").select_option("high")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("where the answer to education is high").first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate(WIDER) <= 0
    page.goto(f"{origin}{LOAN}/models")
    page.get_by_label("Measure its accuracy").fill("1")
    page.get_by_label("Seed, a whole number").fill("7")
    page.get_by_role("button", name="Start the training").click()
    field = page.get_by_label("Measure its accuracy")
    expect(page.get_by_role("alert")).to_contain_text("folds is 1; give at least 2")
    expect(field).to_be_focused()
    expect(field).to_have_value("1")
    expect(page.get_by_label("Seed, a whole number")).to_have_value("7")
    assert violations(page) == []
    assert page.evaluate(WIDER) <= 0


def test_dashboard_works_by_keyboard_and_without_scripts(open_page):
    page = open_page(java_script_enabled=False)
    page.locator("body").press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    skip.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("reader")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Work and health 2026", exact=True).press("Enter")
    page.get_by_role("link", name="Estimates").press("Enter")
    page.get_by_text("More", exact=True).press("Enter")
    page.locator("#confidence").focus()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**confidence=0.99**")
    focusable = page.locator("figure .chart").first
    focusable.focus()
    expect(focusable).to_have_css("outline-style", "solid")


def test_two_hundred_surveys_are_listed_and_filtered(server, open_page):
    """Last in this file: the surveys stay."""
    page = sign_in(open_page())
    before = page.locator("tbody tr").count()
    for number in range(200):
        title = f"Survey number {number:03}"
        server.publish(
            {"name": f"many-{number}", "title": title, "epsilon": "1", "attributes": SMALL}
        )
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(before + 200)
    page.get_by_label("Name or title").fill("number 17")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr").filter(has_text="Survey number")).to_have_count(10)
    page.get_by_label("Name or title").fill("nothing like it")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("link", name="Show all.")).to_be_visible()


def test_editor_reports_publishes_and_takes_back(server, open_page):
    page = sign_in(open_page(OVER))
    page.get_by_role("link", name="Report the results").click()
    page.locator("#r-a-0").select_option("health")
    page.locator("#r-b-0").select_option("region")
    page.get_by_role("button", name="Make the report").click()
    both = "How is your health in general? by Where do you live?"
    expect(page.get_by_role("heading", name=both)).to_be_visible()
    expect(page).to_have_title("Results of Work and health 2025 · hushpoll")
    expect(page.get_by_role("heading", level=2).first).to_have_text("What the answers say")
    # four questions, and one of them among the groups of another
    expect(page.locator(".first-page [role=img]")).to_have_count(5)
    expect(page.locator("figure [role=img]")).to_have_count(5)
    page.go_back()
    for form, ending in (("bundle", "zip"),):
        page.locator(f"#r-{form}").check()
        with page.expect_download() as download:
            page.get_by_role("button", name="Make the report").click()
        assert download.value.suggested_filename == f"over-1.{ending}"
    for at in "ab":
        page.locator(f"#r-{at}-0").select_option("")
    page.locator("#r-q-1").check()
    page.get_by_role("button", name="Choose these for publishing").click()
    page.get_by_label("Everybody may read these results").check()
    page.get_by_role("button", name="Publish the results").click()
    link = page.locator(".panel.link a")
    expect(link).to_contain_text("/results/over/versions/1")
    # read without signing in
    address = "../results/over"
    for theme in ("light", "dark"):
        public = open_page("/sign-in", color_scheme=theme, viewport={"width": 360, "height": 800})
        public.goto(f"{server.url}/dashboard/{address}")
        expect(public.get_by_role("heading", level=1)).to_have_text("Work and health 2025")
        expect(public.locator("figure [role=img]")).to_have_count(1)
        assert violations(public) == []
        assert public.evaluate(WIDER) == 0
    with public.expect_download() as download:
        public.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "over-1-tables-01-health.csv"
    page.get_by_role("button", name="Take the results back").click()
    expect(page.get_by_text("Results that were taken back")).to_be_visible()
    public.reload()
    expect(public.get_by_role("heading", level=1)).to_have_text("These results were taken back")


def test_count_of_an_immediate_survey_rises_without_reload_and_of_a_daily_one_does_not(
    server, open_page
):
    """Follow the way from publishing over the hosted page to the count."""
    live = server.publish(FEW, name="live", release="immediate")
    page = sign_in(open_page("/surveys/live/versions/1"))
    card = page.locator("[data-live=accepted] strong")
    expect(card).to_have_text("0")
    daily = page.context.new_page()
    daily.goto(f"{server.url}/dashboard/surveys/daily/versions/1")
    expect(daily.locator("[data-live=accepted]")).to_be_visible()
    expect(daily.locator("[data-goes-on]")).to_have_count(0)
    respondent = page.context.new_page()
    respondent.goto(f"{server.url}/s/live#sha256={live.digest}")
    respondent.get_by_label("yes").check()
    respondent.get_by_role("button", name="See what would be sent").click()
    respondent.get_by_role("button", name="Agree and send").click()
    expect(respondent.get_by_role("heading", name="Thank you.")).to_be_visible()
    expect(card).to_have_text("1", timeout=LONGEST_SECONDS * 1000)
