"""Raw answers: what others read of them, when files change, what a crash and a full disk leave."""

import gzip
import io
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mayfly.core.model import DAY
from mayfly.errors import RunError
from mayfly.store.warc import WarcWriter, archives, raw_records, unfinished

NOW = 1_800_000_000.0
HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Encoding", "gzip"),
    ("content-length", "17"),
    ("Set-Cookie", "a=1"),
    ("Set-Cookie", "b=2"),
    ("X-Odd", "one\r\nInjected: two"),
)


class Answer(NamedTuple):
    url: str = "https://news.example/a?b=c"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = HEADERS
    body: bytes = b"<html>\r\n\r\nbody \xff</html>"
    at: float = NOW
    address: str = "192.0.2.7"


def by_fastwarc(data: bytes) -> Iterator[tuple[str, dict[str, str], Any, bytes]]:
    from fastwarc.stream_io import GzipReader
    from fastwarc.warc import ArchiveIterator

    for record in ArchiveIterator(GzipReader(io.BytesIO(data)), parse_http=True, verify_digests=True):
        yield str(record.record_type), record.headers.to_dict(), record.http_headers, record.reader.read()


def by_warcio(data: bytes) -> Iterator[tuple[str, dict[str, str], Any, bytes]]:
    reading = pytest.importorskip("warcio.archiveiterator")
    for record in reading.ArchiveIterator(io.BytesIO(data), check_digests="raise"):
        yield record.rec_type, dict(record.rec_headers.headers), record.http_headers, record.content_stream().read()


@pytest.mark.parametrize("read", [by_fastwarc, by_warcio])
def test_others_read_what_was_written(tmp_path, read) -> None:
    with WarcWriter(tmp_path, agent="mayfly/1") as writer:
        for number in range(3):
            writer.write(Answer(body=b"x" * number * 100_000, status=200 + number))
    (path,) = archives(tmp_path)
    records = list(read(path.read_bytes()))
    assert [kind for kind, *_ in records] == ["warcinfo"] + ["response", "request"] * 3
    assert [len(body) for kind, _, _, body in records if kind == "response"] == [0, 100_000, 200_000]
    assert records[0][1]["WARC-Filename"] == path.name
    said = records[1][1]
    assert (said["WARC-Target-URI"], said["WARC-IP-Address"]) == ("https://news.example/a?b=c", "192.0.2.7")
    assert said["WARC-Date"] == "2027-01-15T08:00:00Z"
    assert records[2][1]["WARC-Concurrent-To"] == said["WARC-Record-ID"]


def test_headers_are_those_of_the_body_as_it_is_kept(tmp_path) -> None:
    with WarcWriter(tmp_path) as writer:
        where = writer.write(Answer())
    text = gzip.decompress(b"".join(raw_records(tmp_path, where, 1))).partition(b"\r\n\r\n")[2]
    assert text == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Crawl-Content-Encoding: gzip\r\n"
        b"X-Crawl-content-length: 17\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: one Injected: two\r\n"
        b"Content-Length: 23\r\n\r\n<html>\r\n\r\nbody \xff</html>\r\n\r\n"
    )


def test_an_answer_is_found_by_its_place_while_its_file_is_open_and_after(tmp_path) -> None:
    with WarcWriter(tmp_path) as writer:
        places = [writer.write(Answer(url=f"https://news.example/{number}")) for number in range(20)]
        early = [b"".join(raw_records(tmp_path, place)) for place in places]
        assert len(unfinished(tmp_path)) == 1
    late = [b"".join(raw_records(tmp_path, place)) for place in places]
    assert early == late
    assert [next(by_fastwarc(raw))[1]["WARC-Target-URI"] for raw in late] == [
        f"https://news.example/{number}" for number in range(20)
    ]
    assert unfinished(tmp_path) == []


@pytest.mark.parametrize(
    "place", ["nowhere.warc.gz:0", "../../etc/passwd:0", "", "mayfly-20270115T080000Z-00000.warc.gz:7"]
)
def test_a_place_that_is_none_is_refused(tmp_path, place: str) -> None:
    with WarcWriter(tmp_path) as writer:
        writer.write(Answer())
    with pytest.raises(RunError, match="no record"):
        list(raw_records(tmp_path, place))


def test_a_file_ends_when_it_is_full_or_old(tmp_path) -> None:
    noise = os.urandom(50_000)
    with WarcWriter(tmp_path, max_bytes=120_000) as writer:
        places = [writer.write(Answer(body=noise, at=NOW + number)) for number in range(5)]
        assert len(unfinished(tmp_path)) == 1
    assert [place.split("-")[1][-3:] for place in places] == ["00Z", "00Z", "02Z", "02Z", "04Z"]
    assert all(path.stat().st_size <= 120_000 for path in archives(tmp_path))
    with WarcWriter(tmp_path / "b", max_seconds=60.0) as writer:
        for at in (0.0, 59.0, 60.0, 130.0, 5.0):  # at last the clock was set back
            writer.write(Answer(at=NOW + at))
    assert len(archives(tmp_path / "b")) == 4


def test_a_second_run_in_the_same_second_begins_another_file(tmp_path) -> None:
    for _ in range(3):
        with WarcWriter(tmp_path) as writer:
            writer.write(Answer())
    assert [path.name[-13:] for path in archives(tmp_path)] == [f"0000{n}.warc.gz" for n in range(3)]


def test_old_files_go_and_the_oldest_when_there_is_too_much(tmp_path) -> None:
    with WarcWriter(tmp_path) as writer:
        for day in range(10):
            writer.write(Answer(at=NOW + day * DAY))
        now = NOW + 9.5 * DAY
        assert writer.prune(now, 5 * DAY, 1 << 40) == 4  # the fifth may hold an answer that is five days old
        assert len(archives(tmp_path)) == 6
        last_three = sum(path.stat().st_size for path in archives(tmp_path)[-3:])
        assert writer.prune(now, 5 * DAY, last_three) == 3
        assert writer.prune(now, 0.0, 0) == 2
        assert unfinished(tmp_path) == archives(tmp_path)  # what is being written stays
        writer.write(Answer(at=now))
    assert len(list(by_fastwarc(archives(tmp_path)[0].read_bytes()))) == 5


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_warc import Answer
from mayfly.store.warc import WarcWriter
writer = WarcWriter(Path(sys.argv[1]))
while True:
    sys.stdout.write(writer.write(Answer(body=b"x" * 10_000)) + "\\n")
    sys.stdout.flush()
"""


def test_after_a_kill_the_file_is_whole_up_to_its_last_record(tmp_path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().splitlines()[:-1]
    (left,) = unfinished(tmp_path)
    before = left.read_bytes()
    with WarcWriter(tmp_path) as writer:
        writer.write(Answer())
    assert left.read_bytes() == before
    assert unfinished(tmp_path) == [left]
    assert all(len(b"".join(raw_records(tmp_path, place))) > 0 for place in told)
    assert len(list(by_fastwarc(before))) >= 1 + 2 * len(told)


def test_a_full_disk_leaves_no_half_record(tmp_path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with WarcWriter(tmp_path) as writer:
        writer.write(Answer())
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
        try:
            with pytest.raises(RunError, match="cannot be written: free some space"):
                writer.write(Answer(body=os.urandom(100_000)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        writer.write(Answer(body=b"after"))
    records = list(by_fastwarc(archives(tmp_path)[0].read_bytes()))
    assert [kind for kind, *_ in records] == ["warcinfo"] + ["response", "request"] * 2
    assert records[3][3] == b"after"


def test_several_write_to_a_folder_and_what_is_too_old_is_forgotten_by_any(tmp_path) -> None:
    """Of what is only too much each forgets its own: a part may be on another machine by the time its files are old."""
    ours, theirs = WarcWriter(tmp_path, part="001"), WarcWriter(tmp_path, part="002")
    answer = Answer()
    places = [writer.write(answer) for writer in (ours, theirs)]
    assert len({place.partition(":")[0] for place in places}) == 2
    assert ours.prune(1e12, 0.0, 0) == 0  # theirs is being written
    theirs.close()
    assert ours.prune(answer.at + DAY, 2 * DAY, 0) == 0 and len(archives(tmp_path)) == 2
    assert all(b"".join(raw_records(tmp_path, place)) for place in places)
    assert ours.prune(1e12, 0.0, 0) == 1 and archives(tmp_path) == unfinished(tmp_path)
    ours.close()
