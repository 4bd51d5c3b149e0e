"""`mayfly find`: what is wrong is said in a sentence."""

import pytest

LOCAL = ("--allow-private-addresses", "127.0.0.0/8", "--connect-to", "::127.0.0.1:1", "--host-delay", "0")


@pytest.mark.parametrize("flag", ["--file", "--opml", "--visits"])
@pytest.mark.parametrize("path", [".", "none.txt"])
def test_what_cannot_be_read_is_said(command, flag, path) -> None:
    done = command("find", flag, path)
    assert done.status == 2 and done.err.startswith(f"mayfly: {path} cannot be read: ")


def test_a_word_that_is_no_host_is_named(command) -> None:
    done = command("find", "example.com", "not a host")
    assert done.status == 2 and done.err.startswith("mayfly: 'not a host' is no host; write it as example.com")


def test_a_list_may_begin_with_a_byte_order_mark(command, tmp_path) -> None:
    (tmp_path / "hosts.txt").write_text("\ufeffa.test\n", encoding="utf-8")
    done = command("find", "--file", tmp_path / "hosts.txt", *LOCAL)
    assert done.status == 1 and "a.test" in done.out and "\ufeff" not in done.out


def test_a_host_without_an_answer_is_named_with_its_reason(command) -> None:
    done = command("find", "a.test", *LOCAL)
    assert done.status == 1
    assert "none: connect (no connection: refused or unreachable)" in done.out
    assert "mayfly crawl begins" not in done.out


def test_a_crawl_without_sources_says_so(command) -> None:
    done = command("crawl", "--for", "0.2s", *LOCAL)
    assert done.status == 0 and "There are no sources: mayfly find HOST… adds some." in done.err
