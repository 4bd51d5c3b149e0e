"""Nothing leaves without him."""

import asyncio
import time
from itertools import pairwise

import pytest

from mayfly.core.politeness import Bucket
from mayfly.crawl.doorman import Doorman
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.reasons import Reason
from mayfly.fetch.robots import Robots, read_rules


class Web:
    """Hosts and where they are; robots.txt of all allows everything but /no."""

    def __init__(self, addresses=None, rules=b"User-agent: *\nDisallow: /no\n"):
        self.addresses = addresses or {}
        self.rules = rules

    async def address_of(self, host, port):
        return self.addresses.get(host)


def doorman(web=None, *, rate=1000.0, host_delay=0.05, address_delay=0.0):
    web = web or Web()
    bucket = Bucket(rate, 0.0)
    bucket.start(asyncio.get_running_loop().time())
    robots = Robots(web, "mayfly")
    for host in ("a.test", "b.test", "c.test"):
        robots.remember(f"http://{host}", web.rules, time.time())
    return Doorman(web, robots, bucket, time.time, host_delay, address_delay)


async def ask(door, url, seconds=0.01, log=None):
    passage = door.passage("page")
    reason = await passage.may(url)
    begin = time.monotonic()
    if reason is None:
        await asyncio.sleep(seconds)
    passage.leave()
    if log is not None and reason is None:
        log.append((begin, time.monotonic()))
    return reason


def test_a_site_is_asked_one_at_a_time_with_a_pause_from_the_end():
    async def main():
        door, log = doorman(), []
        await asyncio.gather(*(ask(door, f"http://a.test/{number}", log=log) for number in range(6)))
        return sorted(log)

    log = asyncio.run(main())
    assert len(log) == 6
    assert all(after[0] - before[1] >= 0.05 for before, after in pairwise(log))


def test_sites_do_not_wait_for_each_other():
    async def main():
        door, log = doorman(host_delay=1.0), []
        await asyncio.gather(*(ask(door, f"http://{host}.test/", log=log) for host in "abc"))
        return log

    begun = [begin for begin, _ in asyncio.run(main())]
    assert max(begun) - min(begun) < 0.5


def test_sites_of_one_address_are_kept_apart():
    async def main():
        web = Web({"a.test": "203.0.113.1", "b.test": "203.0.113.1", "c.test": "203.0.113.2"})
        door, log = doorman(web, address_delay=0.2), []
        await asyncio.gather(*(ask(door, f"http://{host}.test/", log=log) for host in "abc"))
        return sorted(begin for begin, _ in log)

    begun = asyncio.run(main())
    assert begun[1] - begun[0] < 0.1
    assert begun[2] - begun[0] >= 0.2


def test_what_robots_txt_forbids_costs_no_request_and_no_token():
    async def main():
        door = doorman(rate=1.0)
        reasons = [await ask(door, "http://a.test/no/way") for _ in range(5)]
        return reasons, sum(door.requests.values()), await asyncio.wait_for(ask(door, "http://a.test/yes"), 0.5)

    reasons, requests, allowed = asyncio.run(main())
    assert reasons == [Reason.ROBOTS] * 5
    assert requests == 0
    assert allowed is None


def test_a_redirect_to_another_site_waits_for_that_site():
    async def main():
        door = doorman(host_delay=0.3)
        passage = door.passage("page")
        await passage.may("http://b.test/")
        passage.leave()
        began = time.monotonic()
        passage = door.passage("page")
        await passage.may("http://a.test/")
        await passage.may("http://b.test/there")
        waited = time.monotonic() - began
        free = door.passage("page")
        # The first site was left when the second hop was asked for, so its pause runs already.
        await asyncio.wait_for(free.may("http://a.test/"), 1.0)
        passage.leave()
        free.leave()
        return waited, dict(door.requests)

    waited, requests = asyncio.run(main())
    assert waited >= 0.29
    assert requests == {"page": 3, "redirect": 1}


def test_all_requests_pay_from_one_budget():
    async def main():
        door = doorman(rate=20.0, host_delay=0.0)
        begin = time.monotonic()
        await asyncio.gather(*(ask(door, f"http://{host}.test/{k}", seconds=0) for host in "abc" for k in range(10)))
        return time.monotonic() - begin

    assert asyncio.run(main()) >= (30 - 1 - 10) / 20


def test_tokens_kept_while_sites_rest_do_not_leave_together():
    async def main():
        door, loop, log = doorman(rate=20.0, host_delay=0.0), asyncio.get_running_loop(), []

        async def fly(number):
            passage = door.passage("page", paid=True)
            assert await passage.may(f"http://{number}.a.test/") is None
            log.append(time.monotonic())
            passage.leave()

        flights = []
        for number in range(30):
            door._robots.remember(f"http://{number}.a.test", b"", time.time())
        door.rest("a.test", 1.6)
        while len(flights) < 30:
            if door._bucket.take(loop.time()):
                flights.append(asyncio.ensure_future(fly(len(flights))))
            await asyncio.sleep(0.005)
        await asyncio.gather(*flights)
        return sorted(log)

    log = asyncio.run(main())
    assert len(log) == 30
    most = max(sum(1 for at in log if begin <= at <= begin + 0.3) for begin in log)
    assert most <= 1 + 20 * (0.3 + 0.5) + 1


def test_a_crawl_delay_counts_from_the_request_that_told_of_it():
    class Asked(Web):
        async def fetch(self, url, *, accept="", limits=None, may=None):
            await may(url)
            return Response(url, url, 200, (), b"User-agent: *\nCrawl-delay: 0.4\n", 0, time.time(), 0.0, 0, "")

    async def main():
        door, log = doorman(Asked()), []
        begin = time.monotonic()
        await ask(door, "http://new.test/", log=log)
        return log[0][0] - begin

    assert asyncio.run(main()) >= 0.39


def test_a_crawl_delay_is_kept_and_told():
    async def main():
        door, log, told = doorman(Web(rules=b"User-agent: *\nCrawl-delay: 0.3\n")), [], []
        door.on_pace = lambda site, delay: told.append((site, delay))
        for number in range(3):
            await ask(door, f"http://a.test/{number}", log=log)
        return log, told

    log, told = asyncio.run(main())
    assert told == [("a.test", 0.3)]
    assert all(after[0] - before[1] >= 0.3 for before, after in pairwise(log))


def test_after_a_restart_sites_rest_first():
    async def main():
        door, log = doorman(host_delay=0.3), []
        door.rest_all()
        begin = time.monotonic()
        await ask(door, "http://a.test/", log=log)
        return log[0][0] - begin

    assert asyncio.run(main()) >= 0.29


def test_when_the_crawl_ends_nothing_more_leaves():
    async def main():
        door = doorman(host_delay=0.2)
        await ask(door, "http://a.test/1")
        waiting = asyncio.ensure_future(ask(door, "http://a.test/2"))
        await asyncio.sleep(0.01)
        door.stopping = True
        return await waiting

    assert asyncio.run(main()) is Reason.STOPPING


def test_who_waits_long_leaves_at_once_when_the_crawl_ends():
    async def main():
        door = doorman(rate=0.01)
        door.rest("a.test", 60.0)
        passages = [ask(door, "http://a.test/1"), ask(door, "http://b.test/"), ask(door, "http://c.test/")]
        waiting = asyncio.gather(*passages)  # one for its site, one for a token
        await asyncio.sleep(0.05)
        door.stopping = True
        return await asyncio.wait_for(waiting, 3.0)

    assert asyncio.run(main()).count(Reason.STOPPING) == 2


def test_robots_txt_that_was_not_asked_for_since_all_ends_forbids_nothing():
    class Stopped(Web):
        async def fetch(self, url, *, accept="", limits=None, may=None):
            return Failed(url, url, await may(url), "", time.time(), 0.0, 0)

    async def main():
        door = doorman(Stopped())
        door.stopping = True
        return await ask(door, "http://new.test/")

    assert asyncio.run(main()) is Reason.STOPPING


@pytest.mark.parametrize("seconds", [0.2, 0.4])
def test_a_site_that_was_told_to_rest_rests(seconds):
    async def main():
        door, log = doorman(host_delay=0.0), []
        door.rest("a.test", seconds)
        begin = time.monotonic()
        await ask(door, "http://a.test/", log=log)
        return log[0][0] - begin

    assert asyncio.run(main()) >= seconds


def test_rules_read_once_serve_all():
    rules = read_rules(b"User-agent: mayfly\nDisallow: /x", "mayfly")
    assert not rules.allows("http://a.test/x")
