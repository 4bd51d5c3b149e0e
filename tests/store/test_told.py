"""Clicks are told again once, whoever was told them: one process, shards, and one process again."""

from hypothesis import given
from hypothesis import strategies as st

from mayfly.store.tables.past import Told

SHARDS = 3
readers = st.one_of(st.none(), st.integers(0, SHARDS - 1))


class Life:
    """Readers that take turns, with the cursors they keep (`tables/meta.py`)."""

    def __init__(self) -> None:
        self.one, self.of = 0, {}
        self.rows: list[tuple[int | None, int]] = []

    def tell(self, reader: int | None, more: int) -> None:
        upto = self.cursor(reader) + more
        if reader is None:
            self.one = upto
        else:
            self.of[reader] = upto
        self.rows.append((reader, upto))

    def cursor(self, reader: int | None) -> int:
        own = min(self.of.values(), default=0) if reader is None else self.of.get(reader, 0)
        return max(self.one, own)


@given(st.lists(st.tuples(readers, st.integers(0, 50)), max_size=30))
def test_each_click_is_told_again_once_and_none_is_left_out(tellings) -> None:
    life = Life()
    for one in tellings:
        life.tell(*one)
    for reader in (None, *range(SHARDS)):
        told = Told(0, life.of if reader is None else [reader])
        mine = [row for row in life.rows if reader is None or row[0] in (None, reader)]
        upto = 0
        for row in mine:
            behind, now = told.more(*row)
            assert behind == upto <= now
            upto = now
        assert upto == life.cursor(reader)


def test_what_shards_were_told_is_told_again_when_the_last_of_them_was() -> None:
    told = Told(0, [0, 1])
    assert [told.more(0, 10), told.more(0, 30), told.more(1, 20), told.more(None, 40), told.more(1, 60)] == [
        (0, 0), (0, 0), (0, 20), (20, 40), (40, 40),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, SHARDS - 1), st.integers(0, 50)), max_size=30))
def test_time_passes_for_one_process_as_for_one_shard_and_not_for_all_of_them(tellings) -> None:
    told, upto, kept = Told(0, range(SHARDS)), dict.fromkeys(range(SHARDS), 0), []
    for reader, more in tellings:
        upto[reader] += more
        behind, now = told.more(reader, upto[reader])
        if behind < now or told.keeps_time(reader):
            kept.append((reader, now - behind))
    assert sum(more for _, more in kept) == min(upto.values())
    assert [reader for reader, _ in kept].count(0) == [reader for reader, _ in tellings].count(0)
    assert all(more or reader == 0 for reader, more in kept)
