"""FairDP's drawn rows have the shares of its appendix, and the ROC AUC of its Table 2."""

import numpy as np
import pytest

from hushpoll_lab.datasets.clear.synthetic import DEVIATION, FEATURES, draw_two_groups
from hushpoll_training.evaluation.metrics import roc_auc


def test_rows_have_the_shares_of_appendix_f_and_the_auc_of_table_2():
    rows = draw_two_groups(20_000, seed=3)
    label, group = rows.codes["label"], rows.codes["group"]
    assert [label[group == code].mean() for code in (0, 1)] == pytest.approx([0.2, 0.8], abs=0.02)
    table = np.column_stack(list(rows.numbers.values()))
    assert table.shape == (20_000, FEATURES)
    assert table[label == 1].mean() == pytest.approx(1, abs=0.03)
    assert table[label == 0].std() == pytest.approx(DEVIATION, rel=0.01)
    best = table.sum(axis=1)
    assert roc_auc(label, best).number() == pytest.approx(0.91, abs=0.01)
    gap = (best > 0)[group == 1].mean() - (best > 0)[group == 0].mean()
    assert gap == pytest.approx(0.41, abs=0.02)
    assert (
        draw_two_groups(50, 1).digest()
        == draw_two_groups(50, 1).digest()
        != draw_two_groups(50, 2).digest()
    )
