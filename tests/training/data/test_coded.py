"""Files of codes without a manifest: domains of the whole file, and every cell checked."""

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.data.coded import describe_codes, read_codes

OPTIONS = {
    "name": "coded",
    "target": "hired",
    "protected": "sex",
    "sensitive": ["sex", "zip_code"],
    "protocol": "GRR",
    "split": "k-based",
    "epsilon": "4",
}


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def codes(tmp_path):
    rows = "SEX,zip.code,Hired,degree\n0,7,1,2\n1,0,0,0\n"
    return read_codes(write(tmp_path / "coded.csv", rows))


def test_columns_are_named_as_a_manifest_can(codes):
    assert {name: values.tolist() for name, values in codes.items()} == {
        "sex": [0, 1],
        "zip_code": [7, 0],
        "hired": [1, 0],
        "degree": [2, 0],
    }


def test_k_is_the_largest_code_of_the_whole_file_plus_one(codes):
    manifest = describe_codes(codes, **OPTIONS)
    sizes = {one.name: (one.role, one.k) for one in manifest.attributes}
    assert sizes == {
        "sex": ("sensitive", 2),
        "zip_code": ("sensitive", 8),
        "hired": ("target", 2),
        "degree": ("plain", 3),
    }
    assert manifest.attributes[1].categories == tuple("01234567")
    assert manifest.attributes[2].positive == "1"
    assert manifest.protected.privileged == ("1",)
    assert manifest.protected.unprivileged == ("0",)
    assert [str(part) for part in manifest.budget().values()] == ["0.8", "3.2"]


def test_ignored_columns_are_not_read(tmp_path):
    path = write(tmp_path / "a.csv", "id,a,A\nx,1,2\n")
    assert list(read_codes(path, ignored=["id", "A"])) == ["a"]


@pytest.mark.parametrize("cell", ["", "-1", "1.0", "65536", "123456", "x", " 1", "٣", "nan"])
def test_a_cell_that_is_no_code_is_named(tmp_path, cell):
    path = write(tmp_path / "a.csv", f'a,b\n1,1\n2,"{cell}"\n')
    with pytest.raises(InvalidParameter) as caught:
        read_codes(path)
    assert f"{path} row 2 (line 3), column b: {cell!r} is no code in [0, 65535]" in str(
        caught.value
    )
    assert "give codes, or a manifest" in str(caught.value)


def test_two_columns_of_one_name_are_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"two columns give the attribute a_b; rename"):
        read_codes(write(tmp_path / "a.csv", "a b,A.B\n1,1\n"))


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"target": "x"}, "target", "target names 'x'.*columns are sex, zip_code"),
        ({"protected": "x"}, "protected", "protected names 'x'"),
        ({"sensitive": ["sex", "x"]}, "sensitive", "sensitive names 'x'"),
        ({"sensitive": ["sex", "hired"]}, "sensitive", "the target, whose protocol"),
        ({"epsilon": "0"}, "epsilon", "epsilon is"),
        ({"protocol": "XYZ"}, "protocol", "one of GRR"),
    ],
)
def test_each_mistake_names_its_option(codes, changes, field, words):
    with pytest.raises(InvalidParameter, match=words) as caught:
        describe_codes(codes, **(OPTIONS | changes))
    assert caught.value.field == field


def test_a_column_of_a_single_code_has_no_domain(tmp_path):
    codes = read_codes(write(tmp_path / "a.csv", "sex,zip_code,hired\n0,0,0\n1,0,1\n"))
    with pytest.raises(InvalidParameter, match=r"attributes\[zip_code\] has a domain of size 1"):
        describe_codes(codes, **OPTIONS)
