from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from hushpoll_client import (
    BudgetExhausted,
    ClientConfig,
    ConsentMissing,
    InvalidParameter,
    Ledger,
    ManifestRefused,
    SurveyClient,
)
from hushpoll_client.device.consent import describe_difference, survey_digest
from hushpoll_shared.drafts.manifest import Manifest

SURVEY = "work-and-health"
CONFIG = ClientConfig(raise_faults=True, exit_patience=0, attempts=1)


class Unread(Mapping):
    """Answers that notice being looked at."""

    def __getitem__(self, key: object) -> str:
        raise AssertionError("read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("read")

    def __len__(self) -> int:
        raise AssertionError("read")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def client(server, path, steps, published):
    server.play(steps.respond(200, published.canonical))
    with SurveyClient(server.url, SURVEY, storage=path, config=CONFIG) as client_of_survey:
        yield client_of_survey


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.answer(Unread()),
        lambda client: client.randomize(Unread()),
        lambda client: client.submit(Unread()),
        lambda client: client.preview(Unread()),
    ],
)
def test_no_answer_is_read_and_nothing_fetched_or_written_before_consent(
    client, server, path, call
):
    assert client.consented is False
    with pytest.raises(ConsentMissing, match="has not agreed"):
        call(client)
    assert server.seen == []
    assert not path.exists()


@pytest.mark.parametrize(
    "show",
    [
        lambda client: client.fetch(),
        lambda client: client.published,
        lambda client: client.preview(),
    ],
)
def test_a_survey_is_shown_before_consent_and_kept_with_it(
    client, server, path, answers, published, show
):
    """Guards: `fetch` refused before consent, so that nobody could be told what is asked."""
    show(client)
    assert len(server.seen) == 1
    assert not path.exists()
    client.give_consent()
    client.close()
    with SurveyClient("http://127.0.0.1:9", SURVEY, storage=path, config=CONFIG) as elsewhere:
        assert elsewhere.consented is False
    with SurveyClient(server.url, SURVEY, storage=path, config=CONFIG) as again:
        assert again.published == published
        assert again.answer(answers).status == "kept"
    assert [seen.method for seen in server.seen].count("GET") == 1


def test_a_pin_of_a_withdrawn_consent_is_not_read(client, server, path):
    client.give_consent()
    client.fetch()
    client.withdraw()
    client.close()
    with SurveyClient(server.url, SURVEY, storage=path, config=CONFIG) as again:
        assert again.published
    assert len(server.seen) == 2


def test_a_consent_does_not_replace_the_pin_of_another_client(
    client, server, path, published, draft, steps
):
    changed = Manifest.from_dict(draft | {"version": 2}).resolve()
    with SurveyClient(server.url, SURVEY, storage=path, config=CONFIG) as other:
        other.fetch()
        client.give_consent()
        client.fetch()
        other.give_consent()
    server.play(steps.respond(200, changed.canonical))
    with SurveyClient(server.url, SURVEY, storage=path, config=CONFIG) as again:
        assert again.published == published


def test_a_shipped_survey_can_be_shown_before_consent(server, path, published, answers):
    client = SurveyClient(server.url, SURVEY, published=published, storage=path, config=CONFIG)
    assert client.published is published
    assert "Sent in clear" in str(client.preview())
    with pytest.raises(ConsentMissing):
        client.answer(answers)


def test_consent_outlives_the_process_and_is_for_one_survey(client, server, path, answers):
    assert client.give_consent("What we ask.") is True
    assert client.answer(answers | {}).reason == "no-manifest"
    client.fetch()
    assert client.answer(answers).status == "kept"
    client.close()
    again = SurveyClient(server.url, SURVEY, storage=path, config=CONFIG)
    assert again.consented is True
    for url, survey in ((server.url, "other"), ("http://127.0.0.1:9", SURVEY)):
        assert SurveyClient(url, survey, storage=path, config=CONFIG).consented is False


def test_withdrawing_wipes_all_but_a_tombstone(client, server, path, published, answers, steps):
    client.give_consent("What we ask.")
    client.fetch()
    server.play(steps.problem("unavailable", {"Retry-After": "3600"}))
    report = client.randomize(answers)
    assert client.withdraw()
    (entry,) = client.ledger.entries()
    assert (entry.digest, entry.epsilon, entry.state) == (published.digest, 4, "withdrawn")
    assert entry.survey_digest == survey_digest(SURVEY)
    assert (entry.survey, entry.version, entry.server, entry.report) == (None,) * 4
    held = b"".join(file.read_bytes() for file in path.parent.iterdir())
    for wiped in (report.id.hex(), report.to_json()[90:130], SURVEY, "What we ask", server.url):
        assert wiped.encode() not in held
    assert published.digest.encode() in held
    assert client.consented is False
    with pytest.raises(ConsentMissing):
        client.answer(Unread())
    before = len(server.seen)
    assert client.flush(1) is True
    assert len(server.seen) == before


def test_withdrawn_answer_is_not_given_again_and_still_counts(path, draft, published, answers):
    def client(survey, **options):
        client = SurveyClient(
            "http://127.0.0.1:9", SURVEY, published=survey, storage=path, config=CONFIG, **options
        )
        client.give_consent()
        return client

    client(published).randomize(answers)
    assert Ledger.open(path).withdraw(SURVEY) == 1
    assert Ledger.open(path).withdraw(SURVEY) == 0
    again = client(published)
    with pytest.raises(BudgetExhausted, match="was withdrawn"):
        again.randomize(answers)
    assert again.answer(answers).reason == "budget"
    second = Manifest.from_dict(draft | {"version": 2}).resolve()
    for limit in ("max_epsilon", "max_epsilon_total"):
        with pytest.raises(BudgetExhausted, match=limit):
            client(second, **{limit: 7}).randomize(answers)
    assert client(second, max_epsilon=8).randomize(answers)
    assert Ledger.open(path).spent() == 8


# ---- the pin, which is kept beside the consent


def test_first_use_counts_over_restarts(client, server, path, draft, steps, published):
    client.give_consent()
    client.fetch()
    client.close()
    changed = Manifest.from_dict(draft | {"title": "Other title"}).resolve()
    server.play(steps.respond(200, changed.canonical))
    again = SurveyClient(server.url, SURVEY, storage=path, config=CONFIG)
    with pytest.raises(ManifestRefused, match="title: 'Work and health' became 'Other title'"):
        again.fetch()
    assert again.published.digest == published.digest
    pinned = SurveyClient(server.url, SURVEY, storage=path, config=CONFIG, digest=changed.digest)
    assert pinned.published.digest == changed.digest
    pinned.close()
    later = SurveyClient(server.url, SURVEY, storage=path, config=CONFIG)
    assert later.published.digest == changed.digest


def test_a_kept_survey_needs_no_network(client, server, path, published, answers):
    client.give_consent()
    client.fetch()
    seen = len(server.seen)
    offline = SurveyClient(server.url, SURVEY, storage=path, config=CONFIG)
    assert offline.preview(answers).digest == published.digest
    assert len(server.seen) == seen


def test_limits_hold_for_a_kept_survey(client, server, path, answers):
    client.give_consent()
    client.fetch()
    strict = SurveyClient(server.url, SURVEY, storage=path, config=CONFIG, max_epsilon=1)
    assert strict.answer(answers).reason == "budget"
    clear = SurveyClient(
        server.url, SURVEY, storage=path, config=CONFIG, required_sensitive={"income"}
    )
    outcome = clear.answer(answers)
    assert (outcome.status, outcome.reason) == ("refused", "manifest")
    assert "'income' in clear" in str(outcome.error)


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.answer(Unread()),
        lambda client: client.give_consent(),
        lambda client: client.consented,
        lambda client: client.withdraw(),
        lambda client: client.flush(),
        lambda client: client.ledger,
        lambda client: client.losses,
    ],
)
def test_methods_without_storage_name_it(server, call):
    with pytest.raises(InvalidParameter, match="storage="):
        call(SurveyClient(server.url, SURVEY))


def resolved(draft, **changes):
    return Manifest.from_dict(draft | changes).resolve()


def test_a_survey_does_not_differ_from_itself(published):
    assert describe_difference(published, published) == []


def test_added_removed_and_changed_fields(published, draft):
    changed = resolved(draft, description="New", minimum_batch=5, protected=None)
    lines = describe_difference(published, changed)
    assert "description: 'New' was added" in lines
    assert "minimum_batch: 100 became 5" in lines
    assert any(line.startswith("protected: ") and "was removed" in line for line in lines)
    assert len(lines) == 3


def test_attributes_are_compared_by_name(published, draft):
    first, second, *rest = draft["attributes"]
    lines = describe_difference(published, resolved(draft, attributes=[second, first, *rest]))
    assert lines == ["attributes: the order became age, gender, country, education, income"]


def test_long_values_and_many_differences_are_cut(published, draft):
    draft["attributes"][3]["categories"] = [f"category {number}" for number in range(100)]
    (line,) = describe_difference(published, resolved(draft))
    assert line.startswith("attributes[education].categories: ['school', 'college'] became [")
    assert len(line) < 200
    draft["attributes"] += [
        {"name": f"extra{number}", "role": "plain", "range": [0, 1]} for number in range(30)
    ]
    lines = describe_difference(published, resolved(draft))
    assert len(lines) == 21
    assert lines[-1] == "… and 11 more differences"


@pytest.mark.parametrize("value", ["7", "3.5"])
def test_a_changed_budget_shows_every_part(published, draft, value):
    lines = describe_difference(published, resolved(draft, epsilon=value))
    assert f"epsilon: '4' became '{value}'" in lines
    assert any(line.startswith("attributes[gender].epsilon: '2' became") for line in lines)
