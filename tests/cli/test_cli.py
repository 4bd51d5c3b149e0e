"""The command line: exit status, one sentence for what is wrong, JSON for programs, help with an example."""

import csv
import json

import pytest

COMMANDS = [("demo",), ("plan",), ("lab", "run"), ("lab", "info"), ("lab", "table"), ("lab", "scale")]


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
    assert (facts["pages"], facts["sources"], facts["links"]) == (len(world.page_ids), 20, len(world.added))
    assert "clicked share" in mayfly("lab", "info", folder).stdout


def test_lab_table_in_every_form(mayfly, folder, tmp_path) -> None:
    flags = ("--policies", "bfs,index", "--budgets", "0.3x,0.9x", "--seeds", "2")
    runs = json.loads(mayfly("lab", "table", folder, *flags, "--json").stdout)
    assert len(runs) == 8
    flags += ("--jobs", "1")  # the same runs, which were kept
    text = mayfly("lab", "table", folder, *flags, "--figure", tmp_path / "shares.png")
    assert text.returncode == 0 and "±" in text.stdout
    assert (tmp_path / "shares.png").read_bytes().startswith(b"\x89PNG")
    assert mayfly("lab", "table", folder, *flags, "--format", "markdown").stdout.startswith("| policy |")
    assert mayfly("lab", "table", folder, *flags, "--format", "csv").stdout.startswith("trace,policy,")


def test_lab_table_reach(mayfly, folder) -> None:
    done = mayfly("lab", "table", folder, "--policies", "bfs,index", "--reach", "0.7", "--jobs", "1", "--json")
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
    of_sources = facts["smallest_budget_for_sources"]
    assert of_sources["90%"] <= of_sources["100%"] == facts["no_source_refused"]
    hosts = facts["hosts"]
    assert sum(host["sources"] for host in hosts) == 20
    clicks = [host["clicks"] for host in hosts]
    assert clicks == sorted(clicks, reverse=True) and sum(clicks) == pytest.approx(exact["quality"])
    text = mayfly("plan", folder, "--figure", tmp_path / "plan.svg")
    assert text.returncode == 0 and "refusing no source" in text.stdout and "90% of the sources in" in text.stdout
    assert (tmp_path / "plan.svg").exists()


def test_version_and_no_arguments(mayfly) -> None:
    assert mayfly("--version").stdout.strip() == "0.1.0"
    assert "Usage" in mayfly().stdout + mayfly().stderr


def test_lab_make_writes_a_trace_that_can_be_read(mayfly, tmp_path) -> None:
    out = tmp_path / "made"
    done = mayfly("lab", "make", out, "--like", "paper", "--seed", "2", "--days", "3", "--scale", "0.02")
    assert done.returncode == 0, done.stderr
    facts = json.loads(mayfly("lab", "info", out, "--json").stdout)
    assert facts["trace"] == "paper-2" and facts["days"] == 3 and facts["shows"] > facts["clicks"] > 0
    assert facts["paper"]["sources"] == 3000
    assert "in the paper" in mayfly("lab", "info", out).stdout
    again = mayfly("lab", "make", out, "--like", "news")
    assert again.returncode == 2 and "not an empty folder" in again.stderr
    for wrong in ("nothing", str(tmp_path / "missing.toml")):
        refused = mayfly("lab", "make", tmp_path / "other", "--like", wrong)
        assert refused.returncode == 2 and wrong in refused.stderr
        assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("like", ["news", "blogs", "forum"])
def test_every_preset_makes_a_world(mayfly, tmp_path, like: str) -> None:
    done = mayfly("lab", "make", tmp_path / like, "--like", like, "--days", "2", "--scale", "0.2")
    assert done.returncode == 0, done.stderr
    assert mayfly("lab", "run", tmp_path / like, "--budget", "1x", "--json").returncode == 0


def test_lab_table_like_the_paper(mayfly, tmp_path) -> None:
    flags = ("--like-paper", "--scale", "0.002", "--replan", "1d", "--seeds", "2", "--jobs", "1")
    flags += ("--cache", tmp_path / "cache")
    done = mayfly("lab", "table", *flags)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == [
        "bfs", "fixed-quota", "frequency", "echo-greedy", "echo-schedule", "echo-newpages", "index", "upper",
    ]  # fmt: skip
    assert "0.86" in next(line for line in lines if line.startswith("echo-newpages"))
    assert len(list((tmp_path / "cache").iterdir())) == 7 * 3 * 2
    assert mayfly("lab", "table", *flags).stdout == done.stdout
    runs = json.loads(mayfly("lab", "table", *flags, "--json").stdout)
    assert {run["seed"] for run in runs} == {1, 2} and {run["trace"] for run in runs} == {"paper-1", "paper-2"}
    wrong = mayfly("lab", "table")
    assert wrong.returncode == 2 and "--like-paper" in wrong.stderr


def test_lab_sweep_makes_tables_and_plots(mayfly, folder, tmp_path) -> None:
    flags = ("--over", "log-push,quota", "--policies", "echo-newpages", "--jobs", "1", "--out", tmp_path)
    done = mayfly("lab", "sweep", folder, *flags, "--fresh")
    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {
        "log-push.md", "log-push.png", "quota.md", "quota.png", "warm-up-echo-newpages.png",
    }  # fmt: skip
    found = json.loads(mayfly("lab", "sweep", folder, *flags, "--json").stdout)
    assert [arm["value"] for arm in found["log-push"]] == [3600, 43200, 86400, 604800]
    assert mayfly("lab", "sweep", folder, "--over", "moon").returncode == 2


def test_lab_figures_draws_every_picture(mayfly, folder, tmp_path) -> None:
    done = mayfly("lab", "figures", folder, "--out", tmp_path, "--jobs", "1", "--fresh")
    assert done.returncode == 0, done.stderr
    names = {"interest", "optimum", "rates", "profit-5-hours", "profit-1-week", "delays", "spending"}
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}{end}" for name in names for end in (".png", ".svg")}
    for file in tmp_path.glob("*.png"):
        assert file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size > 5000


def test_lab_scale_for_people_and_programs(command) -> None:
    size = ("--sources", 2000, "--shards", 4, "--rounds", 6, "--budget", "20")
    told = json.loads(command("lab", "scale", *size, "--json").out)
    assert (told["sources"], told["budget"], len(told["steps"])) == (2000, 20.0, 6)
    done = command("lab", "scale", *size, "--vanish", 0.25)
    assert done.status == 0 and "while 1 were away" in done.out and "at most" in done.out


def test_lab_scale_says_what_would_be_right(command) -> None:
    few = command("lab", "scale", "--sources", 3, "--shards", 4)
    assert few.status == 2 and "at least one for each of the 4 shards" in few.err
    small = command("lab", "scale", "--sources", 500, "--shards", 400, "--budget", "2")
    assert small.status == 2 and "use fewer shards, or a budget of 12.9 or more" in small.err
