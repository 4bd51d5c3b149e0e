"""The smallest set of sources: the plain algorithm's answer, and the paper's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.lab.study import cover as covers
from mayfly.lab.study.cover import distinct_links, greedy_cover
from mayfly.lab.study.kinds import kinds_of, linked_from_main
from mayfly.lab.study.visits import NONE, Visits, numbering

LINKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 20)), min_size=1, max_size=80)


def visits_of(pairs) -> Visits:
    pages, sources = numbering(), numbering()
    page = np.array([pages[str(page)] for _, page in pairs], np.int32)
    source = np.array([sources[str(source)] if source is not None else NONE for source, _ in pairs], np.int32)
    return Visits(pages, sources, page, source, np.zeros(0), np.zeros(0, np.int32))


def plain(visits: Visits) -> tuple[list[int], list[int]]:
    """Greedy as the paper says it: look at every source each time, take the best; of equals the first."""
    links: dict[int, set[int]] = {number: set() for number in range(len(visits.sources))}
    for source, page in zip(*distinct_links(visits), strict=True):
        links[int(source)].add(int(page))
    taken, gains = [], []
    while any(links.values()):
        best = max(links, key=lambda number: (len(links[number]), -number))
        taken.append(best)
        gains.append(len(links[best]))
        reached = links.pop(best)
        links = {number: pages - reached for number, pages in links.items()}
    return taken, gains


@pytest.mark.parametrize("worth", [0.0, 0.1, 2.0], ids=["by rounds", "as it is", "one by one"])
@given(pairs=LINKS)
def test_it_is_what_the_plain_algorithm_takes_in_its_order(worth, pairs) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covers, "_WORTH_A_ROUND", worth)
        visits = visits_of([(f"s{source}", page) for source, page in pairs])
        found = greedy_cover(*distinct_links(visits))
    assert (found.source.tolist(), found.gain.tolist()) == plain(visits)


@given(pairs=LINKS, share=st.floats(0.01, 1.0))
def test_a_share_is_the_beginning_of_all_and_as_short_as_can_be(pairs, share) -> None:
    links = distinct_links(visits_of([(f"s{source}", page) for source, page in pairs]))
    whole, some = greedy_cover(*links), greedy_cover(*links, share)
    many = len(some.source)
    assert some.source.tolist() == whole.source[:many].tolist() and many == whole.needed(share)
    assert some.reached[-1] >= share * some.pages - 1e-6
    assert many == 1 or some.reached[-2] < share * some.pages


def test_a_chain_of_sources_in_each_other_s_way() -> None:
    """Every source shares a page with the next: of each pair the first is taken, however long the chain."""
    many = 3001
    pairs = [(f"s{number}", page) for number in range(many) for page in (number, number + 1)]
    found = greedy_cover(*distinct_links(visits_of(pairs)))
    assert found.source.tolist() == [*range(0, many, 2)]
    assert set(found.gain.tolist()) == {2}


def test_a_visit_from_nowhere_is_no_link_and_a_page_is_no_source_of_itself() -> None:
    visits = visits_of([(None, "a"), ("a", "a"), ("b", "a"), ("b", "a"), (None, "c")])
    source, page = distinct_links(visits)
    assert [list(visits.sources)[number] for number in source] == ["b"] and page.tolist() == [0]
    assert len(distinct_links(visits_of([(None, "a")]))[0]) == 0


def test_kinds_of_sources() -> None:
    main, sport, story, deep = (f"https://a.example/{path}" for path in ("", "sport", "sport/2026/x", "b/c"))
    visits = visits_of([(main, deep), (sport, story), (main, sport), ("https://b.example/", story), (None, story)])
    numbers = np.array([visits.sources[main], visits.sources[sport]])
    assert linked_from_main(visits, numbers) == {sport}
    assert kinds_of([main, sport, story, deep, "17"], {deep}) == ["main", "category", "deeper", "category", None]
    search = [
        f"https://a.example/{query}" for query in ("?s=x", "?utm_source=x&fbclid=1", "#top", "Index.php?utm_id=1")
    ]
    assert kinds_of([*search, "https://a.example"], set()) == ["deeper", "main", "main", "main", "main"]
