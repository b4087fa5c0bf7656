"""A newcomer walks to the first answered survey by the README alone, with what is installed.

A user walks from an empty dashboard to the results of a survey with a question of each kind. The
blocks that lead to a fairness table are run by `tests/test_readme.py` and `tests/fleet/demo`;
`scripts/walks` walks both ways from a bare Python. Four tasks of users are done as they would do
them: read, write a privacy sheet, publish, embed.
"""

from __future__ import annotations

import walks


def test_the_readme_leads_to_a_survey_that_is_answered_in_a_browser(capsys):
    seconds = walks.walk_to_an_answer(installed=True)
    with capsys.disabled():
        print(f"\nto the first survey answered in a browser: {seconds:.0f} s")


def test_the_dashboard_leads_to_results_of_a_questionnaire_that_cover_the_truth(capsys):
    seconds = walks.walk_a_questionnaire(installed=True)
    with capsys.disabled():
        print(f"\nto the results of a questionnaire: {seconds:.0f} s")
    found = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in found] == [
        *("Cannabis", "Cocaine", "Other", "Few", "Many", "mean"),
        *(
            f"violence {hit}, gender {gender}"
            for hit in ("No", "Yes")
            for gender in ("Female", "Male")
        ),
    ]


def test_users_read_write_a_privacy_sheet_publish_and_embed(capsys):
    seconds = walks.walk_the_tasks(installed=True)
    with capsys.disabled():
        print(f"\nto the end of four tasks: {seconds:.0f} s")
    done = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in done] == [
        *("app of Flask", "Yes", "comparison that is told", "comparison that is not told"),
        *("privacy sheet of the command", "privacy sheet of the dashboard", "published"),
    ]


def test_a_form_of_another_tool_is_imported_published_answered_and_exported(capsys):
    seconds = walks.walk_an_import(installed=True)
    with capsys.disabled():
        print(f"\nto the records of a form of another tool: {seconds:.0f} s")
    found = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in found] == [
        "imported", "out.sav", "out.dta", "out.csv", "book.md", "results.xlsx",
    ]  # fmt: skip
