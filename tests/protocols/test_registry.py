"""No protocol and no kernel escapes the registry, and with it this suite."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import hushpoll_protocols
from hushpoll_protocols import (
    PROTOCOLS,
    FrequencyOracle,
    InvalidParameter,
    Registration,
    create,
    registry,
)
from hushpoll_protocols.kernels.interface import Kernel
from hushpoll_protocols.oracles.grr import GRR

FOLDER = Path(hushpoll_protocols.__file__).parent
KERNEL_FOLDER = FOLDER / "kernels"


def _oracles_in(module_name: str) -> set[type[FrequencyOracle]]:
    module = importlib.import_module(module_name)
    return {
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, FrequencyOracle) and not inspect.isabstract(member)
    }


def _modules() -> list[str]:
    return [
        module.name
        for module in pkgutil.walk_packages([str(FOLDER)], "hushpoll_protocols.")
        if "__main__" not in module.name
    ]


def test_every_concrete_oracle_in_the_package_is_registered() -> None:
    oracles = set().union(*(_oracles_in(module) for module in _modules()))
    # A class that still lacks `derive` or `name` is a family, not a protocol.
    protocols = {oracle for oracle in oracles if "name" in vars(oracle)}
    assert protocols == {registration.oracle for registration in PROTOCOLS.values()}


def test_every_kernel_module_is_registered() -> None:
    kernels = {
        f"hushpoll_protocols.kernels.{path.stem}"
        for path in KERNEL_FOLDER.glob("*.py")
        if "def perturb(" in path.read_text() and path.stem != "__init__"
    } - {"hushpoll_protocols.kernels.interface"}
    assert kernels == {registration.kernel for registration in PROTOCOLS.values()}


def test_every_file_of_the_package_is_importable_as_a_module() -> None:
    files = {path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.py")}
    names = {
        "hushpoll_protocols." + ".".join(path.parts).removesuffix(".__init__")
        for path in files
        if path.parts != ("__init__",)
    }
    assert names == set(_modules())


@pytest.mark.parametrize("name", PROTOCOLS)
def test_registration_names_its_own_oracle_and_a_whole_kernel(name: str) -> None:
    registration = PROTOCOLS[name]
    assert isinstance(registration, Registration)
    assert registration.oracle.name == name
    kernel = importlib.import_module(registration.kernel)
    members = [member for member in vars(Kernel) if not member.startswith("_")]
    assert members
    assert [member for member in members if not callable(getattr(kernel, member, None))] == []


def test_thresholds_that_cannot_tell_the_truth_from_the_rest_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Useless(GRR):
        name = "useless"

        @classmethod
        def derive(cls, k, epsilon, **parameters):
            return cls(k=k, epsilon=epsilon, R=2**64 // k)

    table = {"useless": Registration(Useless, "hushpoll_protocols.kernels.grr")}
    monkeypatch.setattr(registry, "PROTOCOLS", table)
    with pytest.raises(InvalidParameter, match="over 4 values at epsilon 1 cannot tell") as refusal:
        create("useless", k=4, epsilon="1")
    assert refusal.value.field == "epsilon"


def test_the_order_is_the_papers() -> None:
    assert list(PROTOCOLS)[:7] == ["GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE"]


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        PROTOCOLS["X"] = PROTOCOLS["GRR"]  # type: ignore[index]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_parameters_of_an_oracle_rebuild_it(name: str) -> None:
    oracle = create(name, k=74, epsilon="1.25")
    assert set(oracle.parameters) == set(oracle.parameter_names)
    again = create(name, k=oracle.k, epsilon=oracle.epsilon, **oracle.parameters)
    assert again == oracle
    assert again.thresholds == oracle.thresholds


def test_scalar_side_imports_the_standard_library_alone() -> None:
    probe = (
        "import sys, hushpoll_protocols as h\n"
        "for name in h.PROTOCOLS:\n"
        "    oracle = h.create(name, k=5, epsilon='1')\n"
        "    oracle.support(oracle.randomize(0, h.SecureBits()))\n"
        "    oracle.disclosure()\n"
        "foreign = {m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(foreign - {'hushpoll_protocols', '__main__'}))\n"
    )
    # Isolated and without site: no .pth file of the environment may import anything either.
    code = f"import sys; sys.path.insert(0, {str(FOLDER.parent)!r})\n{probe}"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"
