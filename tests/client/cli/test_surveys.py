"""``hushpoll survey`` without a server: the sample survey."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hushpoll_client import randomize
from hushpoll_client.cli.surveys import survey
from hushpoll_protocols import InvalidParameter
from hushpoll_shared.drafts.manifest import load_manifest


def test_sample_survey_that_is_printed_can_be_published_and_has_a_population(tmp_path):
    printed = CliRunner().invoke(survey, ["example"], catch_exceptions=False)
    path = tmp_path / "survey.yaml"
    path.write_text(printed.output, encoding="utf-8")
    manifest = load_manifest(path)
    assert set(manifest.population) == {attribute.name for attribute in manifest.attributes}
    rehearsed = CliRunner().invoke(survey, ["publish", str(path), "--dry-run"])
    assert rehearsed.exit_code == 0
    assert "Your gender?" in rehearsed.output
    assert "How many cigarettes do you smoke on a day?" in rehearsed.output
    survey_asked = manifest.resolve()
    answers = {
        "gender": None,
        "health": "Fair",
        "smokes": "Yes",
        "cigarettes": "10 to 19",
        "awake": ["Work", "Noise"],
        "rent": 850,
        "education": "School",
        "hours": "20 to 34",
        "income": "<=26000",
        "flat": "Quite",
        "streets": "Very",
    }
    record = randomize(survey_asked, answers).record
    survey_asked.layout.check(record)
    assert "How content are you with these?" in rehearsed.output
    for lacking in ("cigarettes", "awake", "rent", "streets"):
        with pytest.raises(InvalidParameter, match=lacking):
            randomize(survey_asked, {k: v for k, v in answers.items() if k != lacking})
