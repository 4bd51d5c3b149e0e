"""What is shown of a cluster follows from the rows of its shards alone."""

from dataclasses import replace

from mayfly.cli.cluster_status import show
from mayfly.cluster.ledger import Dealt, ShardRow
from mayfly.cluster.overview import overview
from mayfly.cluster.placement import EVERYWHERE

DEALT = Dealt(10.0, 0.2, 3.0, "coordinator far.example/7")


def row(number: int, owner: str = "node-1/12-ab", **said) -> ShardRow:
    told = {
        "epoch": 1, "lease_until": 100.0, "lease_left": 5.0, "price": 0.2, "allotment": 2.0, "version": 3, "rate": 1.5,
        "reported_at": 95.0, "waiting": 10, "lag": 4.0,
    }  # fmt: skip
    return ShardRow(number=number, owner=owner, **(told | said))


def test_nodes_are_those_of_ray_and_those_that_own_shards() -> None:
    rows = [row(0), row(1, lag=9.0), row(2, "far.example:8080/7-c", rate=0.5)]
    seen = overview(rows, ["node-1", "node-2"], {"node-2"}, DEALT)
    told = {one.name: (one.state, one.shards, one.rate, one.waiting) for one in seen.nodes}
    assert told == {
        "node-1": ("running", 2, 3.0, 20),
        "node-2": ("draining", 0, 0, 0),
        "far.example:8080": ("gone", 1, 0.5, 10),
    }
    assert (seen.rate, seen.budget, seen.lag, seen.orphans) == (3.5, 10.0, 9.0, ())


def test_a_lease_that_has_run_out_is_nobodys() -> None:
    seen = overview([row(0, lease_left=-0.1), row(1, ""), row(2)], ["node-1"], set(), DEALT)
    assert seen.orphans == (0, 1) and seen.rate == 1.5 and seen.nodes[0].shards == 1


def test_the_budget_and_the_price_are_those_that_were_dealt_last() -> None:
    seen = overview([row(0, version=2, price=0.9)], [], set(), DEALT)
    assert (seen.budget, seen.price, seen.priced_ago, seen.coordinator) == (10.0, 0.2, 3.0, DEALT.coordinator)


def test_where_ray_does_not_answer_no_node_is_held_to_be_gone() -> None:
    seen = overview([row(0)], None, {"node-2"}, DEALT)
    assert not seen.ray and {one.state for one in seen.nodes} == {"unknown"}


def test_a_drain_of_all_is_no_node() -> None:
    assert [one.state for one in overview([row(0)], ["node-1"], {EVERYWHERE}, DEALT).nodes] == ["stopped"]


def test_people_are_told_all_of_it_and_what_is_wrong(capsys) -> None:
    seen = overview([row(0), row(1, ""), row(2, "node-2/9-d")], ["node-1", "node-2"], {"node-2"}, DEALT)
    show(seen, every=True, as_json=False)
    said = capsys.readouterr().out
    for words in ("node-1", "draining", "2 of 3 shards have an owner", "3 requests/s of 10", "price 0.2", "lag 4 s"):
        assert words in said
    assert "without an owner: 1" in said and "node-2/9-d" in said and "no coordinator" not in said


def test_people_are_told_what_does_not_answer(capsys) -> None:
    show(overview([row(0)], None, set(), replace(DEALT, coordinator="")), every=False, as_json=False)
    said = capsys.readouterr().out
    assert (
        "Ray does not answer" in said
        and "no coordinator deals out the budget now" in said
        and "node-1/12-ab" not in said
    )


def test_a_database_no_cluster_has_crawled_into_has_no_tables_to_show(capsys) -> None:
    show(overview([], None, set(), Dealt(0.0, 0.0, 0.0, "")), every=True, as_json=False)
    assert capsys.readouterr().out == "no cluster has crawled into this database yet; mayfly cluster up starts one\n"
