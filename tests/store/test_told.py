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
            span = told.again(*row)
            assert span is None or span[0] == upto <= span[1]
            upto = span[1] if span else upto
        assert upto == life.cursor(reader)


def test_what_shards_were_told_is_told_again_when_the_last_of_them_was() -> None:
    told = Told(0, [0, 1])
    assert [told.again(0, 10), told.again(0, 30), told.again(1, 20), told.again(None, 40), told.again(1, 60)] == [
        (0, 0), (0, 0), (0, 20), (20, 40), None,
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, SHARDS - 1), st.integers(0, 50)), max_size=30))
def test_time_passes_for_one_process_as_for_one_shard_and_not_for_all_of_them(tellings) -> None:
    """Between two tellings of the same shard something is told again; for time alone, only where nothing else was."""
    told, upto, last, kept = Told(0, range(SHARDS)), dict.fromkeys(range(SHARDS), 0), {}, []
    for number, (reader, more) in enumerate(tellings):
        upto[reader] += more
        if (span := told.again(reader, upto[reader])) is not None:
            between = [one for one, _ in kept if one > last.get(reader, -1)]
            assert span[0] < span[1] or not between
            kept.append((number, span[1] - span[0]))
        if reader in last:
            assert any(last[reader] < one <= number for one, _ in kept)
        last[reader] = number
    assert sum(more for _, more in kept) == min(upto.values())


def test_a_shard_that_is_silent_does_not_stop_the_clock() -> None:
    told = Told(0, range(SHARDS))
    assert [told.again(reader, 0) is not None for reader in (0, 1, 2, 0, 1, 2, 1, 2, 1, 2)] == [
        True, False, False, True, False, False, True, False, True, False,
    ]  # fmt: skip
