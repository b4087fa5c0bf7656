"""The study of a block's columns at a small size."""

from studies import block_encodings


def test_combinations_of_a_block_help_a_model_more_than_single_questions(data_dir):
    people = block_encodings.read_people(data_dir / block_encodings.FILE)
    rows = block_encodings.run_study(
        people, surveys=1, seed=1, protocols=("SS",), epsilons=("2",), trained=12_000
    )
    areas = {(row.asked, row.encoding): row.of_people for row in rows}
    assert list(areas) == [
        ("together", "indicator"),
        ("together", "question"),
        ("together", "posterior"),
        ("apart", "indicator"),
    ]
    assert areas["together", "indicator"] > areas["together", "question"]
    assert all(0.6 < area < 0.9 for area in areas.values())
    assert "| SS | 2 | together | question |" in block_encodings.markdown(rows)
