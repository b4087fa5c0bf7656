from __future__ import annotations

import gc
import io
import json
import os
import re
import subprocess
import sys

import pytest

from hushpoll_client.cli import command_group, commandline, commands
from hushpoll_client.cli.command_group import LazyGroup
from hushpoll_client.cli.commandline import main
from hushpoll_client.cli.commands import COMMANDS, SECTIONS
from hushpoll_client.cli.help.examples import all_examples
from waiting import LONGEST_SECONDS

# A finder that hides packages, as an environment without an extra does.
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
from hushpoll_client.cli.commandline import main
main({arguments!r})
"""


def without(hidden: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    code = HIDE.format(hidden=hidden, arguments=list(arguments))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONGEST_SECONDS
    )


# Packages, and rooms of ours, that take a command's time to load, and that these can do without.
OF_FEW = {
    *("pandas", "scipy", "yaml", "requests", "urllib3", "charset_normalizer", "http.cookiejar"),
    "hushpoll_shared.reading.people",
}
OF_JOBS = {"numpy", "hushpoll_shared.jobs.analyses", "hushpoll_shared.jobs.training"}
OF_SURVEYS = {"rich", "hushpoll_client.analyst", "hushpoll_shared.survey", "hushpoll_shared.drafts"}
LOADED = """
import sys
from hushpoll_client.cli.commandline import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, *sys.modules)
"""


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    out, err = capsys.readouterr()
    return caught.value.code, out, err


def test_help_lists_every_command_and_exit_code(capsys):
    code, out, err = call(capsys, "--help")
    assert (code, err) == (0, "")
    for name, row in COMMANDS.items():
        assert f"  {name} " in out
        assert row.summary.split()[0] in out
    for number in range(5):
        assert f"    {number}  " in out


def test_each_command_stands_in_one_section_of_the_help():
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


def test_help_has_one_line_a_command(capsys):
    _, out, _ = call(capsys, "--help")
    lines = out.splitlines()
    for name in COMMANDS:
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert line.endswith(".")


def test_help_imports_no_command():
    code = (
        "import sys\nfrom hushpoll_client.cli.commandline import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('|', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(done.stdout.partition("|")[2].split())
    assert "hushpoll_client.cli.command_group" in loaded
    targets = {
        row.target.partition(":")[0]
        for entry in COMMANDS.values()
        for row in getattr(entry, "commands", {"": entry}).values()
    }
    assert not loaded & (targets | {"numpy", "flask", "requests", "lightgbm"})


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        (["--version"], {"hushpoll_shared.querying", "requests", "rich"}),
        (["token", "--help"], {"hushpoll_shared.queries.estimates", "importlib.metadata"}),
        (["estimate", "--help"], {"hushpoll_shared.queries.ordered_answers", "rich.progress"}),
    ],
)
def test_a_command_loads_no_query_that_it_does_not_ask(words, spared):
    """Guards: the dataclasses of all results were a third of what every command loaded."""
    code = (
        "import sys\nfrom hushpoll_client.cli.commandline import main\n"
        f"try:\n    main({words})\nexcept SystemExit:\n    print('|', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(done.stdout.partition("|")[2].split())
    assert "hushpoll_client.cli.command_group" in loaded
    assert not loaded & spared


def test_groups_say_whether_queries_have_commands_in_them():
    declared = commands._grouped(commands._ROWS)
    for name, row in COMMANDS.items():
        before = declared.get(name)
        if isinstance(before, commands.Group):
            assert before.of_queries == (len(row.commands) > len(before.commands))
        else:
            assert before in (row, None)


def test_version(capsys):
    code, out, _ = call(capsys, "--version")
    assert (code, out) == (0, "hushpoll, version 0.1.0\n")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(capsys, name):
    code, out, _ = call(capsys, name, "--help")
    assert code == 0
    assert out.startswith(f"Usage: hushpoll {name} ")


@pytest.mark.parametrize("name", ["survey", "job", "token", "ledger", "model", "experiment"])
def test_summary_of_a_command_is_not_cut_off_in_its_group(capsys, name):
    code, out, _ = call(capsys, name, "--help")
    assert code == 0
    assert "..." not in out.replace("COMMAND [ARGS]...", "")


@pytest.mark.parametrize(
    "name", ["train", "survey issue-tokens", "experiment table", "token issue"]
)
def test_help_has_the_examples_in_lines_that_a_shell_reads_as_one(capsys, name):
    _, out, _ = call(capsys, *name.split(), "--help")
    _, _, shown = out.partition("For instance:\n")
    assert max(map(len, out.splitlines())) <= 80
    joined = re.sub(r"\\\n\s*", "", shown)
    assert [line.strip() for line in joined.strip().splitlines()] == list(all_examples()[name])


def test_help_calls_a_number_so(capsys):
    _, out, _ = call(capsys, "estimate", "--help")
    assert "--version NUMBER" in out
    assert "RANGE" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["--nothing"], "No such option"),
        (["survey", "show"], "Missing argument 'NAME'. For instance: hushpoll survey show "),
        (["simulate", "--url", "x"], "Missing option '--manifest'. It is needed: The manifest "),
        (["plan", "nowhere.yaml"], "File 'nowhere.yaml' does not exist; check its name; this "),
        (["plan", "."], "File '.' is a directory; give a file"),
        (["estimate", "s"], "Missing option '--url'. Give it, or set HUSHPOLL_URL."),
        (
            ["estimate", "s", "--version", "0", "--url", "x"],
            "0 is not in the range; give a whole number, at least 1",
        ),
        (
            ["estimate", "s", "--confidence", "95", "--url", "x"],
            "95.0 is not in the range; give a number, at least 0.01 and at most 0.999999",
        ),
        (
            ["audit", "--alpha", "0"],
            "0.0 is not in the range; give a number, above 0 and at most 0.5",
        ),
        (
            ["estimate", "s", "--version", "1.5"],
            "'1.5' is no whole number; give a whole number such as 15",
        ),
        (["job", "start", "fold", "s"], "Invalid value for 'KIND': 'fold' is not one of 'seal', "),
    ],
)
def test_wrong_usage_is_2(capsys, monkeypatch, arguments, words):
    monkeypatch.delenv("HUSHPOLL_URL", raising=False)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["estimate", "s"],
        ["fairness", "survey", "s"],
        ["export", "s", "--out", "records.bin"],
        ["survey", "close", "s"],
        ["survey", "publish", "{draft}"],
    ],
)
def test_survey_with_tokens_asks_for_one_before_any_question(
    capsys, monkeypatch, tmp_path, draft, arguments
):
    monkeypatch.delenv("HUSHPOLL_TOKEN", raising=False)
    file = tmp_path / "survey.json"
    file.write_text(json.dumps(draft))
    arguments = [str(file) if argument == "{draft}" else argument for argument in arguments]
    code, out, err = call(capsys, *arguments, "--url", "http://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert "Missing option '--token'; or set HUSHPOLL_TOKEN" in err


def test_a_refusal_is_1_in_one_line(capsys):
    code, out, err = call(capsys, "survey", "list", "--url", "http://example.org")
    assert (code, out) == (1, "")
    assert err.startswith("Error: url 'http://example.org' would send reports unencrypted")
    assert err.count("\n") == 1


def test_no_network_is_4(capsys, monkeypatch):
    from hushpoll_client.cli import options
    from hushpoll_client.config import ClientConfig

    monkeypatch.setattr(options, "INTERACTIVE", ClientConfig(attempts=1))
    code, out, err = call(capsys, "survey", "list", "--url", "http://127.0.0.1:9")
    assert (code, out) == (4, "")
    assert "cannot be reached" in err


def test_an_export_into_no_directory_is_refused_before_anything_is_asked(capsys, tmp_path):
    out_file = tmp_path / "nowhere" / "records.bin"
    code, out, err = call(
        capsys,
        *("export", "any", "--out", str(out_file)),
        *("--url", "http://127.0.0.1:9", "--token", "t"),
    )
    assert (code, out) == (1, "")
    assert f"{str(out_file.parent)!r} is no directory" in err


def test_the_base_install_names_the_extra_cli():
    done = without({"click"}, "--help")
    assert (done.returncode, done.stdout) == (3, "")
    assert "needs the optional extra 'cli'" in done.stderr
    assert "pip install '.[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("hidden", "command", "extra"),
    [
        ({"lightgbm", "pandas", "numpy"}, "train", "train"),
        ({"lightgbm", "pandas", "numpy"}, "predict", "train"),
        ({"hushpoll_training"}, "train", "train"),
    ],
)
def test_a_missing_extra_is_3_and_named(hidden, command, extra):
    done = without(hidden, command, "--help")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"needs the optional extra '{extra}'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("hidden", "command"),
    [
        ({"flask", "flask_openapi3", "sqlalchemy"}, "serve"),
        ({"hushpoll_server"}, "serve"),
        ({"hushpoll_fleet"}, "simulate"),
    ],
)
def test_a_missing_distribution_is_3_and_named(hidden, command):
    done = without(hidden, command, "--help")
    assert (done.returncode, done.stdout) == (3, "")
    assert "needs the distribution 'hushpoll-server'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (["--version"], OF_JOBS | OF_SURVEYS),
        (["estimate", "--help"], OF_JOBS),
        (["plan", "--help"], {"hushpoll_client.analyst"}),
    ],
    ids=["version", "estimate", "plan"],  # a set's order differs between processes
)
def test_a_command_loads_what_it_needs_alone(arguments, more):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        capture_output=True, text=True, check=True, timeout=LONGEST_SECONDS,
    )  # fmt: skip
    code, *loaded = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert {"click", "hushpoll_client.cli.command_group"} <= {*loaded}
    assert sorted((OF_FEW | more) & {*loaded}) == []


def test_a_process_of_its_own_collects_no_garbage_while_it_loads(monkeypatch):
    seen = []
    monkeypatch.setattr(commandline, "main", lambda: seen.append(gc.isenabled()))
    monkeypatch.setattr(gc, "freeze", lambda: seen.append("frozen"))
    try:
        commandline.program()
    finally:
        gc.enable()
    assert seen == [False, "frozen"]


def test_a_command_that_is_loaded_collects_its_garbage(monkeypatch, capsys):
    monkeypatch.setattr(gc, "freeze", lambda: None)
    gc.disable()
    try:
        assert call(capsys, "ledger", "--help")[0] == 0
        assert gc.isenabled()
    finally:
        gc.enable()


def test_two_releases_side_by_side_are_refused(capsys, monkeypatch):
    versions = {"hushpoll": "2.0.0", "hushpoll-server": "1.0.0"}
    monkeypatch.setattr("importlib.metadata.version", lambda name: versions.get(name, "2.0.0"))
    code, out, err = call(capsys, "serve", "--help")
    assert (code, out) == (1, "")
    assert "hushpoll-server is of version 1.0.0 and hushpoll of version 2.0.0" in err
    assert "from one checkout, in its folder: pip install . ./server\n" in err
    assert call(capsys, "ledger", "--help")[0] == 0


def test_a_module_missing_in_a_package_of_ours_is_a_fault(monkeypatch):
    row = commands.Row("hushpoll_client.no_such_module:command", "cli", "Not there.")
    monkeypatch.setattr(command_group, "hushpoll", LazyGroup({"broken": row}))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        main(["broken"])


def test_drawing_without_numpy_names_the_extra_kernels(tmp_path, draft):
    draft["population"] = {}
    file = tmp_path / "survey.json"
    file.write_text(json.dumps(draft))
    done = without({"numpy"}, "simulate", "--manifest", str(file), "--dry-run")
    assert done.returncode == 3
    assert "'kernels'" in done.stderr


@pytest.mark.parametrize(
    "module", ["hushpoll_fleet.population.population", "hushpoll_fleet.population.distributions"]
)
def test_the_population_without_numpy_names_the_extra_kernels(module):
    finder = HIDE.partition("from hushpoll_client")[0].format(hidden={"numpy"})
    done = subprocess.run([sys.executable, "-c", f"{finder}\nimport {module}"],
                          capture_output=True, text=True, timeout=LONGEST_SECONDS)  # fmt: skip
    assert "hushpoll_protocols.errors.MissingExtra: drawing respondents needs" in done.stderr
    assert "pip install '.[kernels]'" in done.stderr


def test_training_without_the_system_s_library_names_its_package(tmp_path):
    """Guards: LightGBM's wheel does not bring libgomp, and the smallest systems have none."""
    (tmp_path / "lightgbm.py").write_text(
        "raise OSError('libgomp.so.1: cannot open shared object file: No such file or directory')"
    )
    done = subprocess.run([sys.executable, "-m", "hushpoll_client", "train", "--help"],
                          env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, timeout=LONGEST_SECONDS)  # fmt: skip
    assert done.returncode == 3
    assert "training needs the system library libgomp.so.1" in done.stderr
    assert "apt-get install libgomp1" in done.stderr
    assert "pip install" not in done.stderr


def test_yaml_without_its_library_names_the_extra_cli(tmp_path):
    file = tmp_path / "survey.yaml"
    file.write_text("name: x")
    done = without({"yaml"}, "survey", "publish", str(file), "--dry-run", "--url", "http://[::1]")
    assert done.returncode == 3
    assert "'cli'" in done.stderr


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch):
    row = commands.Row("json:loads", "cli", "Not a command.")
    monkeypatch.setattr(command_group, "hushpoll", LazyGroup({"broken": row}))
    with pytest.raises(TypeError, match="not a click command"):
        main(["broken"])


@pytest.mark.parametrize(
    ("name", "option"),
    [("survey", "--url"), ("records", "--folds"), ("model", "--unseen"), ("predictions", "--out")],
)
def test_every_command_of_fairness_has_help(capsys, name, option):
    code, out, _ = call(capsys, "fairness", name, "--help")
    assert (code, option in out) == (0, True)
    assert out.startswith(f"Usage: hushpoll fairness {name} ")


def test_a_group_shows_its_commands(capsys):
    code, out, _ = call(capsys, "fairness", "--help")
    assert (code, "survey" in out, "predictions" in out) == (0, True, True)
    code, _, err = call(capsys, "fairness", "nothing")
    assert (code, "No such command 'nothing'" in err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(["wroker"], "worker"), (["fairness", "recrods"], "records")],
)
def test_a_mistyped_command_is_refused_with_what_was_meant(capsys, typed, meant):
    code, out, err = call(capsys, *typed)
    assert (code, out) == (2, "")
    assert f"No such command '{typed[-1]}'. Did you mean '{meant}'?" in err


def test_a_command_like_no_other_is_refused_without_a_guess(capsys):
    code, _, err = call(capsys, "xyzzy")
    assert code == 2
    assert err.endswith("No such command 'xyzzy'.\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("survey", "publish", "bad.yaml", "--dry-run", "--json"),
            {"kind": "InvalidParameter", "field": "version", "exit_code": 1},
        ),
        (("survey", "publish", "none.yaml", "--json"), {"kind": "BadParameter", "exit_code": 2}),
        (("wroker", "--json"), {"kind": "UsageError", "exit_code": 2}),
    ],
)
def test_an_error_with_json_is_a_document_on_standard_error(
    capsys, tmp_path, monkeypatch, arguments, expected
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("name: habits\n", encoding="utf-8")
    code, out, err = call(capsys, *arguments)
    error = json.loads(err)["error"]
    assert (code, out) == (expected["exit_code"], "")
    assert error.pop("message")
    assert error == expected


@pytest.mark.parametrize(("more", "says"), [((), True), (("--json",), False), (("-h",), False)])
def test_experiment_run_says_what_it_does_before_anything_is_loaded(more, says):
    """Guards: in a pipe its first words came after seconds, once all that trains was imported."""
    trains = {"numpy", "pandas", "numba", "lightgbm", "sklearn"}
    done = without(trains, "experiment", "run", "adult", "--data", "a.csv", "--out", "new", *more)
    assert done.returncode == 3
    assert done.stderr.startswith("This trains every cell") is says
    assert "pip install" in done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("complete", "shows"), [(None, True), ("bash_complete", False)])
def test_a_terminal_shows_that_a_large_command_is_loaded(monkeypatch, complete, shows):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    if complete is not None:
        monkeypatch.setenv("_HUSHPOLL_COMPLETE", complete)
        monkeypatch.setenv("COMP_WORDS", "hushpoll experiment r")
        monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit) as caught:
        main(["experiment", "--help"])
    assert caught.value.code == 0
    assert ("loading hushpoll experiment" in sys.stderr.getvalue()) is shows


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_s_completion_script_is_the_one_that_the_docs_ask_for(shell, root):
    page = (root / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    (asked,) = re.findall(rf"_HUSHPOLL_COMPLETE={shell}_source hushpoll", page)
    variable, program = asked.split()
    name, _, value = variable.partition("=")
    done = subprocess.run(
        [sys.executable, "-m", "hushpoll_client"],
        env=os.environ | {name: value},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_{program}_completion" in done.stdout
    assert f"{name}={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("pla", "plain,plan"), ("fairness pre", "plain,predictions"), ("plan --n", "plain,--n")],
)
def test_the_tab_key_completes_commands_and_options(typed, offered, monkeypatch, capsys):
    monkeypatch.setenv("_HUSHPOLL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"hushpoll {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    _, out, _ = call(capsys)
    assert offered in out.split()
