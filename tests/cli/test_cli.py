"""The command line: exit status, one sentence for what is wrong, JSON for programs, help with an example."""

import csv
import json

import pytest

COMMANDS = [("demo",), ("plan",), ("lab", "run"), ("lab", "info"), ("lab", "table")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command, mayfly) -> None:
    done = mayfly(*command, "--help")
    assert done.returncode == 0
    assert "Example: mayfly " + " ".join(command) in " ".join(done.stdout.split())


def test_lab_run_prints_json_and_writes_actions(mayfly, folder, judge, tmp_path) -> None:
    done = mayfly(
        "lab", "run", folder, "--policy", "index", "--budget", "0.5x", "--actions", tmp_path / "a.csv", "--json"
    )
    assert done.returncode == 0 and done.stderr == ""
    figures = json.loads(done.stdout)
    found = judge(folder, tmp_path / "a.csv", figures["budget"])
    assert found["broken"] == [] and found["share"] == pytest.approx(figures["share"])
    with (tmp_path / "a.csv").open() as file:
        assert next(csv.reader(file)) == ["at", "kind", "id"]


def test_lab_run_for_people(mayfly, folder) -> None:
    done = mayfly("lab", "run", folder, "--policy", "echo-greedy", "--budget", "0.01", "--estimator", "paper")
    assert done.returncode == 0
    assert "echo-greedy" in done.stdout and "never shown" in done.stdout and "kept" in done.stdout


def test_every_flag_of_lab_run_is_taken(mayfly, folder, world) -> None:
    flags = """--policy echo-newpages --estimator paper --budget 0.5x --feedback all --log-push 2h --history 5
    --replan 10m --bin 600 --host-delay 1s --probe 0.01 --window 2d 4d --until 5d --seed 3 --value clicks --json"""
    done = mayfly("lab", "run", folder, *flags.split())
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["window"] == [world.start + 2 * 86400, world.start + 4 * 86400]
    assert (figures["log_push"], figures["host_delay"], figures["seed"]) == (7200.0, 1.0, 3)
    assert figures["feedback"] == "all" and figures["estimator"] == "paper"


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--policy", "best"), "there is no policy 'best'; there are bfs,"),
        (("--estimator", "guess"), "there is no estimator 'guess'; there are bayes, paper"),
        (("--budget", "lots"), "--budget must be fetches per second or a share of the page rate (0.22x), not 'lots'"),
        (("--budget", "-1"), "--budget must be"),
        (("--budget", "nan"), "--budget must be"),
        (("--log-push", "often"), "--log-push must be a duration such as 90, 90s, 10m, 2h or 3d, not 'often'"),
        (("--replan", "0"), "--replan must be more than 0 seconds"),
        (("--history", "2"), "--history must be 3 to 10 crawls, not 2"),
        (("--probe", "2"), "--probe is a share from 0 to 1"),
        (("--value", "shows"), "has no shows; use --value clicks"),
        (("--window", "5d", "2d"), "--window must lie within the trace"),
        (("--until", "99d"), "--until must lie in"),
        (("--actions", "/nowhere/at/all.csv"), "--actions /nowhere/at/all.csv: No such file or directory"),
    ],
)
def test_what_is_asked_wrong_gets_one_sentence_and_status_2(flags, complaint, mayfly, folder) -> None:
    done = mayfly("lab", "run", folder, *flags)
    assert done.returncode == 2
    assert complaint in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_broken_trace_is_refused_without_a_traceback(mayfly, folder, tmp_path) -> None:
    (tmp_path / "trace.json").write_text('{"start": 0, "end": 10}')
    for command in (("lab", "run"), ("lab", "info"), ("lab", "table"), ("plan",)):
        done = mayfly(*command, tmp_path)
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert "there is no sources.csv" in done.stderr
        assert mayfly(*command, tmp_path / "none").returncode == 2


def test_lab_info_counts(mayfly, folder, world) -> None:
    facts = json.loads(mayfly("lab", "info", folder, "--json").stdout)
    assert (facts["pages"], facts["sources"], facts["links"]) == (900, 20, len(world.added))
    assert "clicked share" in mayfly("lab", "info", folder).stdout


def test_lab_table_in_every_form(mayfly, folder, tmp_path) -> None:
    flags = ("--policies", "bfs,index", "--budgets", "0.3x,0.9x", "--seeds", "2")
    runs = json.loads(mayfly("lab", "table", folder, *flags, "--json").stdout)
    assert len(runs) == 8
    text = mayfly("lab", "table", folder, *flags, "--figure", tmp_path / "shares.png")
    assert text.returncode == 0 and "±" in text.stdout
    assert (tmp_path / "shares.png").read_bytes().startswith(b"\x89PNG")
    assert mayfly("lab", "table", folder, *flags, "--format", "markdown").stdout.startswith("| policy |")
    assert mayfly("lab", "table", folder, *flags, "--format", "csv").stdout.startswith("trace,policy,")


def test_lab_table_reach(mayfly, folder) -> None:
    done = mayfly("lab", "table", folder, "--policies", "bfs,index", "--reach", "0.7", "--json")
    found = json.loads(done.stdout)["budget"]
    assert found["index"] < found["bfs"]


def test_plan_shows_what_a_budget_buys(mayfly, folder, tmp_path) -> None:
    facts = json.loads(mayfly("plan", folder, "--budget", "0.5x", "--json").stdout)
    exact, paper = facts["exact"], facts["paper"]
    assert exact["recrawls"] + exact["pages"] <= facts["budget"] * (1 + 1e-9)
    assert exact["quality"] >= paper["quality"] and exact["quality"] <= facts["upper_bound"]
    assert exact["sources_in"] + exact["sources_out"] == 20
    smallest = facts["smallest_budget"]
    assert smallest["90%"] < smallest["95%"] < smallest["99%"]
    shares = [point["share"] for point in facts["curve"]]
    assert shares == sorted(shares)
    text = mayfly("plan", folder, "--figure", tmp_path / "plan.svg")
    assert text.returncode == 0 and "refusing no source" in text.stdout
    assert (tmp_path / "plan.svg").exists()


def test_version_and_no_arguments(mayfly) -> None:
    assert mayfly("--version").stdout.strip() == "0.1.0"
    assert "Usage" in mayfly().stdout + mayfly().stderr
