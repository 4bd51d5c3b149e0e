"""Settings by layers: the file, then the environment, then flags; what is wrong is said in one sentence."""

import inspect
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mayfly.cli import home as homes
from mayfly.cli import layers
from mayfly.cluster.settings import ClusterSettings
from mayfly.crawl import settings as declared
from mayfly.crawl.settings import Settings
from mayfly.errors import UsageError

WRITTEN = st.sampled_from([("90", 90.0), ("90s", 90.0), ("10m", 600.0), ("2h", 7200.0), ("3d", 259200.0)])
MAYBE = st.none() | WRITTEN


def write(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "mayfly.toml").write_text(text)


@given(in_file=MAYBE, in_environment=MAYBE, as_flag=MAYBE, dashed=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_flag_goes_before_the_environment_and_that_before_the_file(
    tmp_path, in_file, in_environment, as_flag, dashed
) -> None:
    name = "host-delay" if dashed else "host_delay"
    write(tmp_path, "" if in_file is None else f'{name} = "{in_file[0]}"\n')
    with pytest.MonkeyPatch.context() as patch:
        if in_environment is not None:
            patch.setenv("MAYFLY_HOST_DELAY", in_environment[0])
        found, origins = layers.resolve(tmp_path, {"host-delay": None if as_flag is None else as_flag[0]})
    chain = [("flag", as_flag), ("environment", in_environment), ("file", in_file), ("default", ("5", 5.0))]
    origin, (_, seconds) = next((origin, value) for origin, value in chain if value is not None)
    assert (found.host_delay, origins["host-delay"]) == (seconds, origin)
    assert found.budget == Settings().budget and origins["budget"] == "default"


@given(seconds=st.floats(0, 1e9) | st.integers(0, 10**9).map(float))
def test_a_duration_is_written_so_that_it_is_read_the_same(seconds: float) -> None:
    assert layers.words.duration(layers.words.written(seconds), "it") == pytest.approx(seconds, rel=1e-12)


def test_every_kind_of_value_in_every_layer(tmp_path, monkeypatch) -> None:
    write(
        tmp_path,
        'contact = "me@example.com"\nbudget = 3\nreplan = 90.5\nhistory = 5\ntext = false\nnot = ["*/a/*", "*/b/*"]\n',
    )
    monkeypatch.setenv("MAYFLY_NOT", "*/c/*, */d/*")
    monkeypatch.setenv("MAYFLY_WARC", "yes")
    monkeypatch.setenv("MAYFLY_CONNECTIONS", "7")
    flags = {"only": ["*/x/*,*/y/*", "*/z/*"], "log-push": "2h", "text": True}
    found, origins = layers.resolve(tmp_path, flags)
    assert (found.contact, found.budget, found.replan, found.history) == ("me@example.com", 3.0, 90.5, 5)
    assert (found.not_, found.warc, found.connections) == (("*/c/*", "*/d/*"), True, 7)
    assert (found.only, found.log_push, found.text) == (("*/x/*", "*/y/*", "*/z/*"), 7200.0, True)
    assert (origins["not"], origins["only"], origins["contact"]) == ("environment", "flag", "file")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("host-dely = 5", "mayfly.toml: there is no setting 'host-dely'; the nearest is 'host-delay'"),
        ("[crawl]\nbudget = 5", "[crawl] is a table"),
        ("[cluster]\nleese = 5", "mayfly.toml: there is no setting 'cluster.leese'; the nearest is 'cluster.lease'"),
        ("lease = 5", "there is no setting 'lease'; the nearest is 'cluster.lease'"),
        ("[cluster]\nshards = 0", "cluster.shards must be a whole number from 1 to 65536, not 0"),
        ("[cluster]\nprice-every = 0", "cluster.price-every must be a duration such as 90, 90s, 10m, 2h or 3d above 0"),
        ("[cluster]\nprice_grid = 257\nprice-grid = 9", "'cluster.price-grid' stands there twice"),
        ('[cluster]\naddress = "head"', "cluster.address must be HOST:PORT"),
        ('[cluster]\nauth = "off"', "cluster.auth must be token or disabled, not 'off'"),
        ('store = "mysql://db/crawl"', "store must be empty, or an address such as postgresql://"),
        ("host-delay = 5\nhost_delay = 6", "'host-delay' stands there twice"),
        ("budget = ", "mayfly.toml is not TOML"),
        ("budget = -1", "mayfly.toml: budget must be a number above 0, not -1"),
        ("budget = true", "mayfly.toml: budget must be a number above 0, not true"),
        ("budget = inf", "budget must be a number above 0, not inf"),
        ('budget = "two"', "budget must be a number above 0, not 'two'"),
        ('host-delay = "soon"', "host-delay must be a duration such as 90, 90s, 10m, 2h or 3d, not 'soon'"),
        ("host-delay = nan", "host-delay must be a duration such as 90, 90s, 10m, 2h or 3d of 0 or more, not nan"),
        ("history = 2.5", "history must be a whole number from 3 to 10, not '2.5'"),
        ("history = 11", "history must be a whole number from 3 to 10, not 11"),
        ("connections = 0", "connections must be a whole number of 1 or more, not 0"),
        ('text = "yes"', "text must be true or false, not 'yes'"),
        ("contact = 5", 'contact must be text in quotes ("…"), not 5'),
        ('contact = "a\\nb"', "contact must be plain ASCII without brackets"),
        ('only = "a"', "only must be a list such as"),
        ("only = [1]", "only must be a list such as"),
        ('policy = "best"', "policy: there is no policy 'best'; there are bfs,"),
        ('estimator = "guess"', "estimator: there is no estimator 'guess'; there are bayes, paper"),
        ('connect-to = ["x"]', "connect-to: 'x' is no HOST:PORT:HOST:PORT"),
        ('allow-private-addresses = ["all"]', "allow-private-addresses: 'all' is no network"),
        ("budget = " + "9" * 5000, "mayfly.toml is not TOML"),
        ("budget = 1" + "0" * 400, "budget must be a number above 0, not inf"),
    ],
)
def test_what_is_wrong_in_the_file_is_said(tmp_path, text: str, complaint: str) -> None:
    write(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        layers.resolve(tmp_path, {})
    assert complaint in str(refused.value) and str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("MAYFLY_BUDGT", "1", "there is no setting 'MAYFLY_BUDGT'; the nearest is 'MAYFLY_BUDGET'"),
        ("MAYFLY_BUDGET", "lots", "MAYFLY_BUDGET must be a number above 0, not 'lots'"),
        ("MAYFLY_BUDGET", "", "MAYFLY_BUDGET must be a number above 0, not ''"),
        ("MAYFLY_TEXT", "maybe", "MAYFLY_TEXT must be true or false, not 'maybe'"),
        (
            "MAYFLY_CLUSTER_LEESE",
            "2",
            "there is no setting 'MAYFLY_CLUSTER_LEESE'; the nearest is 'MAYFLY_CLUSTER_LEASE'",
        ),
        ("MAYFLY_PROBE", "2", "MAYFLY_PROBE must be a number from 0 to 1, not 2.0"),
    ],
)
def test_what_is_wrong_in_the_environment_is_said(tmp_path, monkeypatch, variable, value, complaint) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match="MAYFLY") as refused:
        layers.resolve(tmp_path, {})
    assert complaint in str(refused.value)


@pytest.mark.parametrize("body", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_said(tmp_path, body) -> None:
    if body is None:
        (tmp_path / "mayfly.toml").mkdir()
    else:
        (tmp_path / "mayfly.toml").write_bytes(body)
    with pytest.raises(UsageError, match=r"mayfly\.toml"):
        layers.resolve(tmp_path, {})


def test_the_file_of_a_new_home_names_every_setting_and_sets_none(home) -> None:
    homes.prepare(home)
    text = (home / "mayfly.toml").read_text()
    assert layers.resolve(home, {}) == (Settings(), dict.fromkeys(layers.SETTINGS, "default"))
    assert layers.resolve_cluster(home, {}) == (ClusterSettings(), dict.fromkeys(layers.CLUSTER, "default"))
    keys = {one.key for one in layers.ALL.values()}
    bare = [line.removeprefix("# ") for line in text.splitlines()]
    lines = [line for line in bare if line == "[cluster]" or line.split(" = ")[0] in keys]
    assert len(lines) == len(layers.ALL) + 1
    write(home, "\n".join(lines))
    found, origins = layers.resolve(home, {})
    assert found == Settings() and set(origins.values()) == {"file"}
    found, origins = layers.resolve_cluster(home, {})
    assert found == ClusterSettings() and set(origins.values()) == {"file"}


@given(in_file=MAYBE, in_environment=MAYBE, as_flag=MAYBE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cluster_is_set_by_the_same_layers(tmp_path, in_file, in_environment, as_flag) -> None:
    write(tmp_path, "budget = 3\n" + ("" if in_file is None else f'[cluster]\nlease = "{in_file[0]}"\n'))
    with pytest.MonkeyPatch.context() as patch:
        if in_environment is not None:
            patch.setenv("MAYFLY_CLUSTER_LEASE", in_environment[0])
        flags = {"cluster.lease": None if as_flag is None else as_flag[0]}
        found, origins = layers.resolve_cluster(tmp_path, flags)
        assert layers.resolve(tmp_path, flags)[0].budget == 3.0
    chain = [("flag", as_flag), ("environment", in_environment), ("file", in_file), ("default", ("30", 30.0))]
    origin, (_, seconds) = next((origin, value) for origin, value in chain if value is not None)
    assert (found.lease, origins["cluster.lease"]) == (seconds, origin)


@given(fetch=st.integers(1, 40), margin=st.integers(1, 40), lease=st.integers(1, 40))
def test_a_fetch_ends_within_the_margin_and_the_margin_within_the_lease(fetch, margin, lease) -> None:
    flags = {"cluster.fetch-seconds": str(fetch), "cluster.margin": str(margin), "cluster.lease": str(lease)}
    if fetch < margin < lease:
        assert layers.resolve_cluster(Path("nowhere"), flags)[0].lease == lease
    else:
        with pytest.raises(UsageError, match="set fetch-seconds < margin < lease, not fetch-seconds"):
            layers.resolve_cluster(Path("nowhere"), flags)


def test_a_line_below_the_heading_of_the_cluster_is_said_to_be_there(home) -> None:
    write(home, "[cluster]\nshards = 4\nbudget = 3\n")
    with pytest.raises(UsageError, match=r"'budget' stands under \[cluster\]; move it above that line"):
        layers.resolve(home, {})


def test_the_file_is_grouped_as_the_settings_are_declared(home) -> None:
    source = inspect.getsource(declared.Settings)
    headings = [line.strip().removeprefix("# ") for line in source.splitlines() if line.startswith("    # ")]
    wanted = [line.removeprefix("## ") for line in homes.template().splitlines() if line.startswith("## ")]
    assert wanted == headings
    for heading in headings:
        after = source.split(f"# {heading}\n")[1].split(":")[0].strip().rstrip("_").replace("_", "-")
        assert homes.GROUPS[after] == heading


def test_a_file_that_is_there_stays_as_it_is(home) -> None:
    write(home, "budget = 4\n")
    homes.prepare(home)
    assert (home / "mayfly.toml").read_text() == "budget = 4\n"
    assert [file.name for file in home.iterdir()] == ["mayfly.toml"]


def test_a_home_that_cannot_be_made_is_said(tmp_path, command, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder"):
        homes.prepare(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_is_said(tmp_path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(Exception, match="cannot be made: Permission denied"):
        homes.prepare(tmp_path / "home")


@pytest.mark.parametrize(
    "before",
    [
        None,
        "budget = 4",
        "budget = 4\n[cluster]\nshards = 4",
        '# contact = ""\nbudget = 4\n',
        'contact=""\nbudget = 4\n',
        "",
    ],
)
def test_the_contact_is_kept_and_all_else_stays(home, before) -> None:
    if before is not None:
        write(home, before)
    else:
        homes.prepare(home)
    homes.keep_contact(home, 'https://example.com/"bot"')
    found, origins = layers.resolve(home, {})
    assert found.contact == 'https://example.com/"bot"' and origins["contact"] == "file"
    assert found.budget == (4 if before else 2)
    assert (home / "mayfly.toml").read_text().count("contact =") == 1


@pytest.mark.parametrize(
    ("flags", "free"),
    [
        ({}, False),
        ({"contact": "me@example.com"}, True),
        ({"connect-to": ["::127.0.0.1:80"]}, True),
        ({"allow-private-addresses": ["127.0.0.0/8"]}, True),
    ],
)
def test_the_real_web_needs_a_contact(home, flags, free: bool) -> None:
    if free:
        assert homes.ready(home, flags)[0].budget == 2.0
    else:
        with pytest.raises(UsageError, match="contact is not set"):
            homes.ready(home, flags)
    assert (home / "mayfly.toml").exists()


def test_on_a_terminal_the_contact_is_asked_for(home, monkeypatch) -> None:
    answers = iter(["(me)", " me@example.com "])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    assert homes.ready(home, {})[0].contact == "me@example.com"
    assert layers.resolve(home, {})[1]["contact"] == "file"


def test_config_shows_what_is_in_force(command, home, monkeypatch) -> None:
    write(home, 'host-delay = "10m"\n')
    monkeypatch.setenv("MAYFLY_LOG_PUSH", "90")
    done = command("config", "--budget", "3")
    assert done.status == 0
    rows = {line.split()[0]: line.split()[1:3] for line in done.out.splitlines()}
    assert rows["host-delay"] == ["10m", "file"]
    assert rows["log-push"] == ["90s", "environment"]
    assert rows["budget"] == ["3", "flag"]
    assert rows["replan"] == ["30m", "default"]
    told = json.loads(command("config", "--json").out)
    assert told.keys() == layers.ALL.keys()
    assert told["cluster.lease"]["shown"] == "30s" and command("config", "cluster.price_grid").out == "257\n"
    assert told["host-delay"]["value"] == 600.0 and told["host-delay"]["shown"] == "10m"
    assert told["host-delay"]["from"] == "file"


def test_config_prints_one_value(command, home) -> None:
    assert command("config", "host_delay").out == "5s\n"
    assert command("config", "not", "--not", "a,b", "--not", "c").out == "a, b, c\n"
    assert json.loads(command("config", "only", "--json").out) == []
    done = command("config", "hostdelay")
    assert (
        done.status == 2
        and done.err == "mayfly: config: there is no setting 'hostdelay'; the nearest is 'host-delay'\n"
    )
    assert not home.exists()


def test_a_wrong_flag_gets_one_sentence_and_status_2(command) -> None:
    for flags, said in (
        (("--budget", "0"), "--budget must be a number above 0"),
        (("--bugdet", "1"), "No such option"),
    ):
        done = command("config", *flags)
        assert done.status == 2 and said in done.err
