"""A report and its bundle: the API's numbers, the same bytes twice, and texts that stay texts."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import zipfile
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from threading import BoundedSemaphore
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dashboard_server import HOSTILE, LARGE, MARKUP, ODD
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_client.cli.reports import report as report_command
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.figures import percent
from hushpoll_server.survey_reports.content.promise import guarantees, promise_of
from hushpoll_server.survey_reports.files import pdf
from hushpoll_server.survey_reports.files.bundle import MOST_BYTES, files_of, read_bundle
from hushpoll_server.survey_reports.files.offline import remade
from hushpoll_server.survey_reports.files.report import Report
from hushpoll_server.survey_reports.markup.page import page_of, style_hash
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.survey_reports.sources.choices import Choices
from hushpoll_shared.drafts.manifest import Manifest
from sample_survey import VERSION

pytestmark = pytest.mark.sqlite
DAILY = {"release": "daily", "minimum_batch": 3}
CROSS = "gender:age,income:country"


@pytest.fixture
def draw(drawing):
    return lambda specification: drawing.draw(specification, "svg")


class Page(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._style = False
        self.feed(html.decode())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self._style = tag == "style"

    def handle_data(self, data):
        if not self._style:
            self.text += data


def basis_of(draft: dict[str, Any], crosses=(), **asked: Any) -> Basis:
    """A basis of a survey that nobody has answered, with counts as they could be."""
    published = Manifest.from_dict({"version": 1, **draft}).resolve()
    choices = Choices.of(published, cross_tables=crosses, **asked)
    rng = np.random.default_rng(1)
    support = {
        attribute.name: rng.integers(100, 900, attribute.k) for attribute in published.attributes
    }
    joint = {}
    for a, b in choices.cross_tables:
        most = np.minimum.outer(support[a], support[b])
        joint[a, b] = JointCounts(1000, support[a], support[b], most // 3)
    facts = {
        "state": "open",
        "release": published.release,
        "released_at": None,
        "opens": None,
        "closes": None,
        "duplicate": 0,
        "rejected": {},
        "audits": [],
        "made_with": {"hushpoll": "0"},
    }
    return Basis(
        published=published, choices=choices, n=1000, support=support, joint=joint, facts=facts
    )


def zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in files.items():
            archive.writestr(path, body)
    return target.getvalue()


def test_report_has_the_numbers_of_the_api_and_is_made_again_from_its_bundle(site):
    published = site.publish()
    for age in ("30s", "40s", "none of yours", "20s"):
        site.fill(published, 5, age=age)
    site.seal()
    asked = f"cross={CROSS}&confidence=0.9"
    page = site.get(f"{VERSION}/report?{asked}")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    bundle = site.get(f"{VERSION}/report?{asked}&format=bundle").data
    files = read_bundle(bundle)[1]
    results = json.loads(files["results.json"])

    def api(path: str) -> dict[str, Any]:
        return site.get(f"{VERSION}/{path}confidence=0.9").json

    estimates = api("estimates?")
    assert results["estimates"]["attributes"] == estimates["attributes"]
    assert results["estimates"]["n"] == estimates["n"] == 20
    ordered = api("ordered-answers?attribute=country&")
    assert results["ordered"]["country"]["groups"] == ordered["groups"]
    answered = api("answered-shares?attribute=age&")
    assert results["answered"]["age"]["attributes"] == answered["attributes"]
    for table, (a, b) in zip(
        results["cross_tables"], [("gender", "age"), ("income", "country")], strict=True
    ):
        assert table["cells"] == api(f"cross-tables?a={a}&b={b}&")["cells"]
    for attribute in estimates["attributes"]:
        for row in attribute["categories"]:
            assert (
                f"{100 * row['frequency'] + 0.0:.1f}".replace("-0.0", "0.0").replace("-", "\u2212")
                in Page(page.data).text
            )
    # once more, with charts drawn by another process and in another order
    with remade(bundle) as made:
        assert made.different == ()
        assert set(made.same) == set(files) - {"SHA256SUMS"}
        assert made.file("html") == page.data == files["report.html"]
        assert made.file("bundle") == bundle
    for line in files["SHA256SUMS"].decode().splitlines():
        digest, _, path = line.partition("  ")
        assert hashlib.sha256(files[path]).hexdigest() == digest


def test_report_depends_on_the_release_alone(site):
    published = site.publish(**DAILY)
    assert site.problem(site.get(f"{VERSION}/report"))[:2] == (409, "not-released")
    site.fill(published, 2)
    site.clock.advance(86400)
    site.services.sealing.sweep(site.services.surveys.now())
    assert site.problem(site.get(f"{VERSION}/report"))[0] == 409
    site.fill(published, 3)
    site.clock.advance(86400)
    site.services.sealing.sweep(site.services.surveys.now())
    before = site.get(f"{VERSION}/report?format=bundle").data
    site.fill(published, 7)
    site.send_bytes(b"HUSH", headers={})
    assert site.get(f"{VERSION}/report?format=bundle").data == before


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("attributes=nothing", "attributes"),
        ("cross=gender", "cross"),
        ("cross=gender:gender", "cross"),
        ("estimator=likelihood", "estimator"),
        ("confidence=2", "confidence"),
        ("format=docx", "format"),
    ],
)
def test_report_names_what_is_wrong_with_a_choice(site, query, field):
    site.publish()
    status, code, named = site.problem(site.get(f"{VERSION}/report?{query}"))
    assert status == 422
    assert named == field, (code, named)


def test_guarantee_is_the_largest_change_of_odds_rounded_up(draw):
    page = Page(Report(basis_of(ODD), draw).html)
    factor = float(re.search(r"at most a factor of ([0-9.,]+)", page.text)[1].replace(",", ""))
    # e^2, the bound for every prior; shown with one decimal and never below it
    assert np.exp(2) <= factor < np.exp(2) + 0.1
    assert "in clear: other" in page.text


def test_report_loads_and_runs_nothing_and_shows_texts_as_they_are(draw):
    report = Report(basis_of(ODD, [("odd", "other")]), draw)
    page = Page(report.html)
    assert not {"script", "link", "img", "iframe", "object", "b"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {"style", "onload", "onclick", "src"} & names
    assert all(value.startswith("#") for name, value in page.attributes if name == "href")
    assert ("content", f"default-src 'none'; style-src {style_hash()}") in page.attributes
    for text in (MARKUP, *HOSTILE):
        assert text in page.text
    files = files_of(report.basis, report.results, report.figures, report.html)
    table = files["tables/01-odd.csv"].decode()
    # a spreadsheet takes none of them for a formula
    assert '"\'=HYPERLINK(1)"' in table
    assert '"\'+1"' in table
    assert '"\'@x"' in table
    assert b"var(--" not in files["figures/01-odd.svg"]


def test_report_of_five_hundred_categories_cuts_the_picture_and_not_the_table(draw):
    report = Report(basis_of(LARGE, [("kind", "place")]), draw)
    text = Page(report.html).text
    assert "shows 50 of 500 categories" in text
    assert "Place 499" in text
    assert "first 30 categories of each side" in text
    files = files_of(report.basis, report.results, report.figures, report.html)
    assert files["tables/03-kind-by-place.csv"].count(b"\n") == 1 + 40 * 500


def test_report_of_another_estimator_has_no_interval_and_says_why(draw):
    report = Report(basis_of(ODD, estimator="projected"), draw)
    text = Page(report.html).text
    assert "Projected estimates have no interval" in text
    # the verdict is on the reports, whatever is estimated from them
    assert text.count("95 % interval") == text.count("its 95 % interval is expected to reach")


def test_report_folds_what_is_too_noisy_and_names_no_estimate_of_it(draw):
    """Gender and smoking, among ten questions at epsilon 2, of 1,000 people."""
    names = ["gender", "smokes", *(f"q{number}" for number in range(8))]
    attributes = [
        {"name": name, "role": "sensitive", "protocol": "GRR", "categories": ["yes", "no"]}
        for name in names
    ]
    attributes[-1] |= {"categories": ["1", "2", "3"], "missing": "no answer"}
    published = Manifest.from_dict(
        {"name": "s", "version": 1, "title": "s", "epsilon": "2", "attributes": attributes}
    ).resolve()
    both = np.array([[400, 80], [120, 400]])
    support = {one.name: np.full(one.k, 1_000 // one.k) for one in published.attributes}
    support |= {"gender": both.sum(axis=1), "smokes": both.sum(axis=0)}
    joint = {("gender", "smokes"): JointCounts(1_000, both.sum(axis=1), both.sum(axis=0), both)}
    made = basis_of(ODD)
    choices = Choices.of(published, cross_tables=[("gender", "smokes")])
    report = Report(
        Basis(
            published=published,
            choices=choices,
            n=1_000,
            support=support,
            joint=joint,
            facts=made.facts,
        ),
        draw,
    )
    (table,) = report.results["cross_tables"]
    assert table["verdict"]["says"] == "too noisy to tell"
    html = report.html.decode()
    section = html.partition('aria-labelledby="x-1"')[2].partition("</section>")[0]
    open_part, _, folded = section.partition("<details")
    assert table["verdict"]["sentence"] in open_part
    assert "%" not in open_part.replace(table["verdict"]["sentence"], "")
    assert "<svg" in folded
    last = html.partition('aria-labelledby="q-10"')[2].partition("</section>")[0]
    assert last.count("data-folded") == 3  # shares, mean and quantiles, shares of who answered
    for words in ("contain zero", "above zero", "The largest"):
        assert words not in html
    files = files_of(report.basis, report.results, report.figures, report.html)
    assert (
        "Too noisy to tell"
        in json.loads(files["figures/11-gender-by-smokes.vl.json"])["title"]["text"]
    )
    printed = page_of(report.basis, report.results, report.figures, for_print=True)
    paper = printed.partition('aria-labelledby="x-1"')[2].partition("</section>")[0]
    assert "The shares are too noisy to tell and are not printed" in paper
    assert "<svg" not in paper


def test_bundle_is_refused_where_it_is_not_consistent(draw):
    report = Report(basis_of(ODD), draw)
    files = read_bundle(report.bundle)[1]
    basis = json.loads(files["basis.json"])

    def changed(**more: Any) -> bytes:
        return zipped({**files, "basis.json": json.dumps({**basis, **more}).encode()})

    counts = basis["counts"]
    for data, words in (
        (b"PK no ZIP", "no bundle of a report"),
        (zipped({"manifest.json": b"{}"}), "manifest"),
        (zipped({"manifest.json": files["manifest.json"]}), "no bundle of a report"),
        (changed(format=2), "format is 2"),
        (changed(digest="0" * 64), "digest is"),
        (changed(counts={**counts, "n": 0}), "n is 0"),
        (changed(counts={**counts, "n": 10}), "counts"),
        (changed(counts={**counts, "support": {"odd": [1], "other": [1, 2]}}), "counts"),
        (zipped({**files, "more": bytes(MOST_BYTES)}), "when it is expanded"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            read_bundle(data)


def test_zip_that_is_damaged_or_of_another_kind_is_refused(draw):
    bundle = Report(basis_of(ODD), draw).bundle
    body = bundle.index(b"README.txt") + len("README.txt")
    encrypted = bytearray(bundle)
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[bundle.index(head) + flags] |= 1
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("manifest.json", b"{}")
    for data in (
        bundle[:body] + b"\xff" * 40 + bundle[body + 40 :],
        bytes(encrypted),
        other.getvalue(),
    ):
        with pytest.raises(InvalidParameter, match="no bundle of a report"):
            read_bundle(data)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"release": "never"},
        {"released_at": 5},
        {"made_with": {}},
        {"rejected": [1]},
        {"audits": [{"parameters": {}, "result": {"groups": [1]}}]},
        None,
    ],
)
def test_bundle_whose_facts_are_none_is_refused(draw, facts):
    report = Report(basis_of(ODD), draw)
    files = read_bundle(report.bundle)[1]
    basis = json.loads(files["basis.json"])
    wrong = {**basis["facts"], **facts} if facts else facts
    data = zipped({**files, "basis.json": json.dumps({**basis, "facts": wrong})})
    with pytest.raises(InvalidParameter, match="no bundle of a report"), remade(data):
        pass


def test_bundle_that_was_changed_is_told(draw, tmp_path):
    report = Report(basis_of(ODD), draw)
    files = read_bundle(report.bundle)[1]
    results = files["results.json"].replace(b'"n": 1000', b'"n": 2000')
    changed = zipped({**files, "results.json": results})
    with remade(changed) as made:
        assert made.different == ("results.json",)
    for name, bundle, code in (("kept", report.bundle, 0), ("changed", changed, 1)):
        (tmp_path / f"{name}.zip").write_bytes(bundle)
        told = CliRunner().invoke(report_command, ["--from", str(tmp_path / f"{name}.zip")])
        assert (told.exit_code, "came out differently: results.json" in told.output) == (
            code,
            code == 1,
        )
        assert (tmp_path / f"{name}.html").exists()


def test_large_report_is_for_a_job(site):
    many = [
        {"name": f"q{number}", "role": "plain", "categories": ["no", "yes"]} for number in range(25)
    ]
    sensitive = {"name": "s", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
    site.publish(attributes=[sensitive, *many], protected=None, protocol="GRR")
    status, code, field = site.problem(site.get(f"{VERSION}/report"))
    assert (status, field) == (422, "attributes"), code


def test_pdf_has_pages_and_the_title_of_the_survey(draw):
    """It needs the extra pdf and the system's Pango, which scripts/environment installs."""
    made = Report(basis_of(ODD, [("odd", "other")]), draw).pdf()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", made, re.DOTALL)
    content = b"".join(expanded(stream) for stream in streams) + made
    assert len(re.findall(rb"/Type /Page\b(?!s)", content)) >= 3
    assert b"/Title" in content
    assert b"/ToUnicode" in content  # so that text is text, and can be found
    # Charts with names in Hebrew and Arabic are images: as SVG, their letters would stand from left
    # to right, and unjoined.
    assert b"/Subtype /Image" in content


def test_commands_and_images_of_a_printed_page_are_within_it(draw):
    rules = Report(basis_of(ODD), draw).html.decode().rpartition("@media print {")[2]
    assert "pre { white-space: pre-wrap; overflow-wrap: anywhere; }" in rules
    assert ":is(img, svg) { max-width: 100%; max-height: 190mm; height: auto; }" in rules


def test_few_pages_are_laid_out_as_pdf_at_a_time(monkeypatch):
    monkeypatch.setattr(pdf, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(pdf, "_PLACES", BoundedSemaphore(1))
    with pdf._PLACES, pytest.raises(pdf.NotPrinted, match="other reports are being laid out"):
        pdf.pdf_of("<p>Text")
    assert pdf.pdf_of("<p>Text").startswith(b"%PDF-")


def test_pdf_without_the_extra_names_it(site, monkeypatch):
    site.fill(site.publish(), 5)
    site.seal()
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    answer = site.get(f"{VERSION}/report?format=pdf")
    assert site.problem(answer)[:2] == (501, "missing-extra")
    assert "'./server[pdf]'" in answer.json["detail"]
    answer = site.ask_for_job("report", {"format": "pdf"})
    assert site.problem(answer)[:2] == (501, "missing-extra")
    assert site.get(f"{VERSION}/report").status_code == 200


def expanded(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


RESULTS = ("conditional-shares?of=age&given=gender", "dependencies", "largest?x=1")


def test_other_results_have_sections_tables_and_their_numbers_again_from_the_bundle(site, draw):
    published = site.publish(release="immediate", minimum_batch=3)
    site.fill(published, 30)
    site.fill(published, 30, gender="Female")
    site.services.sealing.sweep(site.services.surveys.now())
    path = f"{VERSION}/report"
    query = {"attributes": "income", "results": ",".join(RESULTS[:2])}
    html = site.get(path, query_string=query)
    assert html.status_code == 200, html.json
    text = html.get_data(as_text=True)
    assert '<a href="#results">Other results</a>' in text
    assert "Conditional shares</p>" in text
    bundle = site.get(path, query_string=query | {"format": "bundle"}).data
    api = site.get(f"{VERSION}/conditional-shares?of=age&given=gender").json
    assert percent(round(api["shares"][0]["value"], 4), 1) in text
    basis, files = read_bundle(bundle)
    found = json.loads(files["results.json"])["results"]
    assert [one["query"] for one in found] == list(RESULTS[:2])
    assert found[0]["result"]["shares"] == api["shares"]
    tables = [one for one in files if one.startswith("tables/")]
    assert any(one.endswith("-conditional-shares.csv") for one in tables)
    again = Report(basis, draw)
    assert files_of(basis, again.results, again.figures, again.html).items() <= files.items()
    assert "--result 'conditional-shares?of=age&amp;given=gender'" in text.replace("&#39;", "'")


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ("largest?x=1", "results names 'largest'; give one of"),
        ("independence?a=age", "results: in independence, b is missing"),
        ("changes?attribute=age&since_version=1", "compares two versions"),
        ("estimates?estimator=likelihood", "reads the records themselves"),
        ("independence?a=age&b=no", "no"),
    ],
)
def test_a_result_that_no_report_has_is_refused(site, results, words):
    published = site.publish(release="immediate", minimum_batch=3)
    site.fill(published, 10)
    site.services.sealing.sweep(site.services.surveys.now())
    answer = site.get(f"{VERSION}/report", query_string={"results": results})
    assert answer.status_code == 422
    assert words in answer.json["detail"], answer.json


def test_options_are_one_question_and_no_question_has_two_marks_after_it():
    draft = {
        "name": "s", "title": "Umfrage", "language": "de", "epsilon": "20", "protocol": "SS",
        "attributes": [
            {"name": "gender", "role": "sensitive", "categories": ["w", "m"],
             "question": "Ihr Geschlecht?"},
            {"name": "region", "role": "plain", "categories": ["N", "S"], "question": "Region?"},
            {"name": "news", "role": "sensitive", "categories": ["Radio", "Netz", "Buch"],
             "select": {}, "question": "Was lesen Sie?"},
            {"name": "rent", "role": "sensitive", "question": "Miete?",
             "number": {"low": 0, "high": 5000, "unit": "Euro", "anchors": [0, 5000]}},
        ],
    }  # fmt: skip
    rng = np.random.default_rng(2)
    for language, shown in (("de", "3 von 4 Fragen"), ("en", "3 of 4 questions")):
        basis = basis_of(draft, [("gender", "region")], language=language,
                         attributes=["gender", "news", "rent"])  # fmt: skip
        support = dict(basis.support)
        for block in basis.published.blocks:
            support.setdefault(block.name, rng.integers(300, 600, block.k))
        page = Report(replace(basis, support=support), lambda _: "<svg></svg>").html.decode()
        text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
        assert shown in text
        assert re.search(r"\?[\u2068\u2069]* ?[.?!]", text) is None
        assert re.search(r"Median (nicht bestimmbar|cannot be told) 0 (bis|to) 5[.,]000", text)


def test_only_the_options_of_a_select_all_that_cannot_be_told_are_left_out():
    """Guards: one option that was too noisy folded all of them."""
    draft = {
        "name": "s", "title": "s", "epsilon": "20", "protocol": "SS",
        "attributes": [
            {"name": "news", "role": "sensitive", "categories": ["Radio", "Papers", "Books"],
             "select": {}, "question": "What do you read?"},
        ],
    }  # fmt: skip
    basis = basis_of(draft)
    support = {
        block.name: np.random.default_rng(2).integers(100, 200, block.k)
        for block in basis.published.blocks
    }
    report = Report(replace(basis, support=support), lambda _: "<svg></svg>")
    names = [one["name"] for one in report.results["estimates"]["attributes"]]
    verdict = report.results["estimates"]["verdict"]
    texts = {}
    for too_noisy in ([], names[:1], names):
        verdict |= {"says": "informative", "too_noisy": too_noisy}
        html = page_of(report.basis, report.results, report.figures)
        body = html.partition("<body")[2]
        # Guards: a title that begins with an answer in Arabic was turned as a whole.
        assert len(too_noisy) == 3 or 'id="f-q-1"><bdi dir="ltr">' in body
        texts[len(too_noisy)] = " ".join(re.sub(r"</?(bdi|strong)>", "", body).split())
    note = "Too noisy to tell: Radio.</p>"
    assert note in texts[1]
    first_pages = {noisy: text.partition('id="promise"')[0] for noisy, text in texts.items()}
    assert "Papers" in first_pages[1]
    assert "Radio" not in first_pages[1]
    assert "Radio" in first_pages[0]
    assert note not in texts[0]
    assert "“What do you read?” is too noisy to tell." not in texts[1]
    assert "“What do you read?” is too noisy to tell." in texts[3]


def test_options_of_a_select_all_are_one_chart_and_one_row_of_guarantees():
    options = [f"Substance {one}" for one in range(30)]
    drugs = {"name": "drugs", "role": "sensitive", "categories": options, "select": {}}
    smokes = {"name": "smokes", "role": "sensitive", "categories": ["No", "Yes"]}
    draft = {"name": "s", "version": 1, "title": "s", "epsilon": "4", "protocol": "OUE"}
    age = {"name": "age", "role": "sensitive", "range": [1, 9]}
    published = Manifest.from_dict({**draft, "attributes": [drugs, age]}).resolve()
    choices = Choices.of(published)
    assert (choices.figures(published), choices.pictures) == (2, 31)
    names = {one.name: one.name for one in published.attributes} | {"drugs": "Which?"}
    told = guarantees(published, promise_of(published)["attributes"], names)
    assert [one.questions for one in told] == [("Which? (30 ×)",), ("age",)]
    few = Manifest.from_dict({**draft, "attributes": [smokes, age]}).resolve()
    names = {"smokes": "Smoke?", "age": "Age?"}
    told = guarantees(few, promise_of(few)["attributes"], names)
    assert [one.questions for one in told] == [("Smoke?",), ("Age?",)]
