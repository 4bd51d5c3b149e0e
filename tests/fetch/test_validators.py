"""Validators, and what to make of those that lie."""

from typing import NamedTuple

from mayfly.fetch.validators import ASK_PLAINLY_AFTER, UNKNOWN, Validators, hash_of


class Answered(NamedTuple):
    body: bytes = b""
    etag: str = ""
    last_modified: str = ""
    not_modified: bool = False

    @property
    def body_hash(self) -> int:
        return hash_of(self.body)


UNMODIFIED = Answered(not_modified=True)


def test_the_first_request_is_plain_and_the_next_conditional() -> None:
    known = UNKNOWN.after(Answered(b"a", '"1"', "Mon, 16 Nov 2026 00:00:00 GMT"))
    assert UNKNOWN.headers() == {}
    assert known.headers() == {"If-None-Match": '"1"', "If-Modified-Since": "Mon, 16 Nov 2026 00:00:00 GMT"}


def test_what_no_request_can_hold_is_not_sent() -> None:
    for odd in ('"\udcff"', '"\x01"', '"é"', f'"{"x" * 2000}"'):
        assert UNKNOWN.after(Answered(b"a", odd)).headers() == {}


def test_an_etag_that_changes_with_every_answer_hides_nothing_and_shows_nothing() -> None:
    known = UNKNOWN.after(Answered(b"a", '"1"'))
    assert not known.changed(Answered(b"a", '"2"'))
    assert known.after(Answered(b"a", '"2"')).headers() == {"If-None-Match": '"2"'}
    assert known.changed(Answered(b"b", '"2"'))


def test_now_and_then_the_page_is_asked_for_plainly() -> None:
    known = UNKNOWN.after(Answered(b"a", '"1"'))
    for _ in range(ASK_PLAINLY_AFTER):
        assert known.headers()
        known = known.after(UNMODIFIED)
    assert known.headers() == {}
    assert known.after(Answered(b"a", '"1"')).headers() == {"If-None-Match": '"1"'}


def test_validators_caught_lying_are_believed_no_more() -> None:
    known = UNKNOWN.after(Answered(b"a", '"1"'))
    for _ in range(ASK_PLAINLY_AFTER):
        known = known.after(UNMODIFIED)
    known = known.after(Answered(b"b", '"1"'))
    assert known.lie
    for body in b"c", b"c", b"d":
        assert known.headers() == {}
        known = known.after(Answered(body, '"1"'))


def test_no_validators_cannot_lie() -> None:
    known = UNKNOWN.after(Answered(b"a"))
    assert known.headers() == {}
    assert not known.after(Answered(b"b")).lie


def test_honest_validators_are_kept() -> None:
    known: Validators = UNKNOWN
    for number in range(50):
        known = known.after(Answered(str(number).encode(), f'"{number}"'))
        known = known.after(UNMODIFIED)
    assert not known.lie


def test_hashes_fit_a_signed_column() -> None:
    for number in range(100):
        assert -(1 << 63) <= hash_of(str(number).encode()) < 1 << 63
