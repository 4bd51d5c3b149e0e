"""How interest fades: patterns of pages, clusters of patterns, a mixture that is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.model import DAY
from mayfly.lab.study.hosts import ranked_hosts
from mayfly.lab.study.kmeans import kmeans, nearest
from mayfly.lab.study.patterns import DAYS, clustered, ephemeral_pages, fortnights, held, sample_of
from mayfly.lab.study.visits import NONE, Visits

MIDNIGHT = 1_789_948_800.0
AGES = np.arange(DAYS)
# Shapes of interest, and how many pages have each: five that come and go, one that stays, as in the paper.
SHAPES = {
    "gone in a day": (np.exp(-AGES / 0.4), 0.45),
    "two days": (np.exp(-AGES / 1.5), 0.25),
    "slow": (np.exp(-AGES / 3.5), 0.12),
    "best on the second day": (np.array([0.35, 1.0, 0.4, 0.1] + [0.02] * 10), 0.09),
    "late": (np.exp(-(((AGES - 5) / 1.2) ** 2)) + 0.1 * (AGES == 0), 0.05),
    "stays": (np.full(DAYS, 0.9), 0.04),
}


def visits_of(page, at, visitor=None, count=None) -> Visits:
    names = [f"https://a.example/{number}" for number in range(int(np.max(page)) + 1)]
    numbers = {name: number for number, name in enumerate(names)}
    who = np.full(len(page), NONE) if visitor is None else np.asarray(visitor)
    return Visits(numbers, {}, np.asarray(page), np.zeros(0, int), np.asarray(at, float), who, count)


def mixture(rng, pages: int, mean_visits: float = 60.0) -> tuple[Visits, np.ndarray]:
    """A log of three weeks and a half whose pages come up in its first week, and the shape of each."""
    kind = rng.choice(len(SHAPES), pages, p=[share for _, share in SHAPES.values()])
    shapes = np.array([shape / shape.sum() for shape, _ in SHAPES.values()])
    daily = rng.poisson(mean_visits * shapes[kind])
    born = MIDNIGHT + rng.uniform(0, 7 * DAY, pages)
    cell = np.repeat(np.arange(pages * DAYS), daily.ravel())
    page, day = cell // DAYS, cell % DAYS
    at = np.concatenate([born, born[page] + (day + rng.uniform(0, 1, len(page))) * DAY])
    return visits_of(np.concatenate([np.arange(pages), page]), at), kind


def test_a_known_mixture_is_found_within_two_points() -> None:
    visits, kind = mixture(np.random.default_rng(5), 6000)
    found = fortnights(visits)
    best = clustered(found, found.pattern, 6, np.random.default_rng(0))
    truth = np.bincount(kind[found.page], minlength=len(SHAPES)) / len(found.page)
    for number, (name, _) in enumerate(SHAPES.items()):
        mine = best.labels[kind[found.page] == number]
        cluster = int(np.bincount(mine).argmax())
        assert best.clusters[cluster].share == pytest.approx(truth[number], abs=0.02), name
    stays = list(SHAPES).index("stays")
    assert best.ephemeral_share == pytest.approx(1 - truth[stays], abs=0.02)
    assert [cluster.share for cluster in best.clusters] == sorted((c.share for c in best.clusters), reverse=True)
    assert ephemeral_pages(best).mean() == pytest.approx(best.ephemeral_share)


def test_with_few_visits_the_ephemeral_share_is_still_found() -> None:
    visits, kind = mixture(np.random.default_rng(6), 8000, mean_visits=12.0)
    found = fortnights(visits)
    best = clustered(found, sample_of(found, 5000, np.random.default_rng(1)), 6, np.random.default_rng(0))
    truth = np.mean(kind[found.page] != list(SHAPES).index("stays"))
    assert best.ephemeral_share == pytest.approx(truth, abs=0.02)


def test_the_same_seed_gives_the_same_clusters() -> None:
    found = fortnights(mixture(np.random.default_rng(2), 300)[0])
    one, two = (clustered(found, found.pattern, 4, np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(one.labels, two.labels) and one.explained == two.explained


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 30)), min_size=1, max_size=60))
def test_patterns_are_what_counting_by_hand_gives(rows) -> None:
    pages, days = (list(column) for column in zip(*rows, strict=True))
    visits = visits_of(pages, MIDNIGHT + np.array(days) * DAY)
    found = fortnights(visits)
    at = visits.at
    length = int((at.max() - at.min()) // DAY) + 1
    first = {page: min(at[np.array(pages) == page]) for page in set(pages)}
    kept = sorted(page for page in first if first[page] + DAYS * DAY <= at.min() + length * DAY + 1e-3)
    assert found.page.tolist() == kept and found.cut == len(visits.pages) - len(kept)
    for row, page in enumerate(kept):
        ages = np.floor((at[np.array(pages) == page] - first[page]) / DAY)
        daily = np.bincount(ages[ages < DAYS].astype(int), minlength=DAYS)
        assert found.pattern[row] == pytest.approx(daily / daily.max())
        assert found.visits[row] == daily.sum()


def test_counts_and_visitors() -> None:
    at = MIDNIGHT + DAY * np.array([0, 1.5, 1.5, 1.6, 13.2])
    visits = visits_of([0] * 5, at, [1, 7, 7, NONE, NONE], np.array([4.0, 1.0, 1.0, 1.0, 2.0]))
    assert fortnights(visits).pattern[0, [0, 1, 13]].tolist() == [1.0, 0.75, 0.5]
    once = fortnights(visits, each_visitor_once=True)
    assert once.pattern[0, [0, 1, 13]].tolist() == [0.5, 1.0, 0.5]  # one, then two of three, then one nobody knows


def test_pages_that_were_there_before_the_log_settled_are_left_out() -> None:
    visits = visits_of([0, 1, 2, 0], MIDNIGHT + DAY * np.array([0, 4, 20, 29.5]))
    found = fortnights(visits, settle=3 * DAY)
    assert (found.page.tolist(), found.old, found.cut) == ([1], 1, 1)


@pytest.mark.parametrize(
    ("centroid", "fades"),
    [
        (np.eye(DAYS)[0], True),
        (np.exp(-AGES / 3), True),
        (np.exp(-(((AGES - 6) / 1.5) ** 2)), True),  # a late and short peak
        (np.ones(DAYS), False),
        (np.arange(1, DAYS + 1) / DAYS, False),  # it grows
        (np.exp((AGES - 13) / 2), False),  # so does this, to its best days at the end
        (np.exp(-AGES / 10), False),
        (np.eye(DAYS)[0] + np.eye(DAYS)[7], False),  # it comes back
    ],
)
def test_what_is_ephemeral(centroid, fades) -> None:
    assert (held(centroid[None])[0] > 0.5) is np.bool_(fades)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_no_point_is_nearer_to_another_centre_and_centres_are_means(seed, k) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (40, 3)) / 3
    if len(np.unique(points, axis=0)) < k:
        return
    found = kmeans(points, k, rng, starts=3)
    labels, away = nearest(points, found.centroids)
    brute = np.square(points[:, None] - found.centroids).sum(axis=2)
    assert away == pytest.approx(brute.min(axis=1), abs=1e-9)
    assert found.inertia == pytest.approx(brute.min(axis=1).sum(), abs=1e-9)
    for number in range(k):
        assert found.centroids[number] == pytest.approx(points[labels == number].mean(axis=0), abs=1e-9)


def test_as_many_clusters_as_points_leave_nothing() -> None:
    points = np.repeat(np.eye(4), [1, 5, 2, 9], axis=0)
    assert kmeans(points, 4, np.random.default_rng(0)).inertia == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="4 different points cannot be 5 clusters"):
        kmeans(points, 5, np.random.default_rng(0))


def test_hosts_by_their_new_pages() -> None:
    names = [f"https://{host}.example/{number}" for host, number in (("a", 1), ("a", 2), ("b", 3), ("b", 4), ("b", 5))]
    numbers = {name: number for number, name in enumerate([*names, "17"])}
    page, day = np.array([0, 1, 2, 3, 4, 0, 5]), np.array([0, 0, 0, 5, 6, 9.5, 9.5])
    visits = Visits(numbers, {}, page, np.zeros(0, int), MIDNIGHT + day * DAY, np.array([1, 2, 1, 1, 1, 1, NONE]))
    b, a = ranked_hosts(visits)
    assert (b.host, b.new, b.per_day, b.pages, b.visits, b.visitors) == ("b.example", 3, 0.3, 3, 3.0, 1)
    assert (a.host, a.new, a.visits, a.visitors) == ("a.example", 2, 3.0, 2)
    b, a = ranked_hosts(visits, settle=2 * DAY)
    assert (b.new, b.per_day, a.new) == (2, 0.25, 0)
