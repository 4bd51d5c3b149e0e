"""What actors are told when they are created: by name, as a node may be of another version."""

from pathlib import Path

import pytest

pytest.importorskip("asyncpg", reason="asyncpg is not installed: pip install mayfly[cluster]")

from mayfly.cluster.actors import Orders
from mayfly.cluster.settings import ClusterSettings
from mayfly.crawl.settings import Settings

ORDERS = Orders(Path("home"), Settings(budget=7.0, connect_to=("::127.0.0.1:80",)), ClusterSettings(shards=4))


def test_what_is_told_is_heard() -> None:
    assert Orders.heard(ORDERS.told()) == ORDERS


def test_in_an_upgrade_what_one_side_does_not_know_is_left_out_and_the_rest_stays_in_its_place() -> None:
    told = ORDERS.told()
    newer = told | {"settings": {"of_tomorrow": 1, **told["settings"]}}
    assert Orders.heard(newer) == ORDERS
    older = told | {"cluster": {"shards": 4}}
    assert Orders.heard(older) == ORDERS
