"""The paper's configurations: as published, and fitting the data where it is there."""

import pytest

from hushpoll_lab.experiments import shipped
from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.grid import tasks
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.protocol_grid import check_columns
from hushpoll_training.data.coded import read_codes

FILES = {"adult": "adult_26k.csv", "acs-coverage": "acs_coverage_tx2018.csv", "lsac": "lsac.csv"}
LEARNERS = {
    "adult": (38, 0.02255696731716368, 1100),
    "acs-coverage": (47, 0.20243400958078808, 1300),
    "lsac": (9, 0.18177994587365698, 1100),
}
SENSITIVE = {
    "adult": ("gender", "race", "native-country", "age"),
    "acs-coverage": ("DIS", "AGEP", "SEX", "SCHL"),
    "lsac": ("race1", "gender", "fam_inc", "fulltime"),
}

GRIDS = tuple(name for name in shipped.names() if "methods" not in shipped.find(name))


def load(name):
    return Experiment.from_dict(
        shipped.find(name) | {"data": FILES[name.removesuffix("-appendix")]}
    )


def test_there_is_one_for_each_data_set_and_for_its_appendix():
    assert tuple(sorted((*FILES, *(f"{name}-appendix" for name in FILES)))) == GRIDS


@pytest.mark.parametrize("name", [name for name in shipped.names() if name not in GRIDS])
def test_the_others_are_experiments_on_methods(name):
    found = MethodsExperiment.from_dict(shipped.find(name))
    assert found.name == name
    assert len(set(found.trials())) == len(found.seeds) * len(found.methods)


@pytest.mark.parametrize("name", GRIDS)
def test_the_grid_is_the_paper_s(name):
    found = load(name)
    plain = name.removesuffix("-appendix")
    assert found.epsilons == ("0.25", "0.5", "1", "2", "4", "8", "10", "20", "50")
    assert found.seeds == tuple(range(20))
    # seven protocols, two splits, nine epsilons, and the baseline
    assert len(tasks(found)) == 20 * (7 * 2 * 9 + 1)
    parameters = found.recipe.learner.parameters
    names = ("max_depth", "learning_rate", "n_estimators")
    assert tuple(parameters[name] for name in names) == LEARNERS[plain]
    if plain == name:
        assert (found.sensitive, found.drawn) == (SENSITIVE[plain], None)
    else:
        assert found.drawn == (2, 6)
        assert set(SENSITIVE[plain]) <= set(found.sensitive)


@pytest.mark.data
@pytest.mark.parametrize("name", GRIDS)
def test_the_data_has_the_columns(name, data_dir):
    found = load(name)
    codes = read_codes(data_dir / found.data, ignored=found.ignore)
    check_columns(found, codes)
    if found.drawn is not None:
        assert {one.lower() for one in found.sensitive} == set(codes) - {found.target.lower()}
