"""The tables, as numbered steps that are never changed once released: a database is brought up to date by the steps it
has not had. `PRAGMA user_version` says how many it has had, `application_id` that it is ours.

What is numbered: sources 0, 1, 2, … and pages 1, 2, 3, … in the order they were added; `log.seq` is the order in which
things happened, whatever the wall clock says; `pages.landed` the order in which pages were settled. No number is given
twice, so none of these is reused after `prune`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import apsw

from mayfly.errors import RunError

APPLICATION_ID = 0x4D61_7966  # "Mayf"

_FIRST = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', 0), ('told', 0);

-- One row, so that counting never means reading a table.
CREATE TABLE totals (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seen INTEGER NOT NULL DEFAULT 0, links INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0, fetched INTEGER NOT NULL DEFAULT 0, old INTEGER NOT NULL DEFAULT 0,
    duplicate INTEGER NOT NULL DEFAULT 0, soft_404 INTEGER NOT NULL DEFAULT 0, log_in INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0,
    landed INTEGER NOT NULL DEFAULT 0
);
INSERT INTO totals (one) VALUES (1);

CREATE TABLE sources (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, site TEXT NOT NULL, kind TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'active', reason TEXT NOT NULL DEFAULT '', pinned REAL,
    found_at REAL NOT NULL, found_on TEXT NOT NULL DEFAULT '',
    crawls INTEGER NOT NULL DEFAULT 0, last_crawl REAL, last_new REAL, shown INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0, failure TEXT NOT NULL DEFAULT '', unchanged INTEGER NOT NULL DEFAULT 0,
    new_links INTEGER NOT NULL DEFAULT 0, good_pages INTEGER NOT NULL DEFAULT 0, dull_pages INTEGER NOT NULL DEFAULT 0,
    etag TEXT NOT NULL DEFAULT '', last_modified TEXT NOT NULL DEFAULT '', body_hash INTEGER,
    unmodified INTEGER NOT NULL DEFAULT 0, lie INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL
);
CREATE UNIQUE INDEX sources_by_url ON sources (url);
CREATE INDEX sources_by_revision ON sources (revision);
CREATE INDEX sources_by_host ON sources (host);
-- Apart, because all of it is written anew at each plan.
CREATE TABLE estimates (
    source INTEGER PRIMARY KEY, link_rate REAL NOT NULL, page_profit REAL NOT NULL, profit_decay REAL NOT NULL,
    interval REAL, worth REAL NOT NULL, next_due REAL, note TEXT NOT NULL
);
-- Fingerprints of what a source showed at its last crawl: sorted int64, native byte order.
CREATE TABLE shows (source INTEGER PRIMARY KEY, hashes BLOB NOT NULL);

-- Every address a source showed. page 0: remembered, but there is none. day: when one was last known to show it.
CREATE TABLE seen (hash INTEGER PRIMARY KEY, page INTEGER NOT NULL, day INTEGER NOT NULL);
-- All addresses of the pages that have several.
CREATE TABLE addresses (page INTEGER NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY (page, hash)) WITHOUT ROWID;

CREATE TABLE pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash INTEGER NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL,
    site TEXT NOT NULL, source INTEGER NOT NULL, anchor TEXT NOT NULL, context TEXT NOT NULL, rank INTEGER NOT NULL,
    found_at REAL NOT NULL,
    looked_at REAL,        -- the crawl of that source before: the page came after it
    shown_published REAL,  -- what the link said; `published` is what we believe once the page is settled
    published REAL, published_from TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT 'waiting', reason TEXT NOT NULL DEFAULT '',
    retry_at REAL, tries INTEGER NOT NULL DEFAULT 0,
    landed INTEGER, settled INTEGER,  -- in the order of settling; as `log.seq`
    fetched_at REAL, delay REAL, status INTEGER, final_url TEXT NOT NULL DEFAULT '',
    canonical TEXT NOT NULL DEFAULT '', language TEXT NOT NULL DEFAULT '', body_hash INTEGER, duplicate_of INTEGER,
    warc TEXT NOT NULL DEFAULT ''
);
CREATE INDEX pages_waiting ON pages (id) WHERE outcome = 'waiting';
CREATE UNIQUE INDEX pages_by_landing ON pages (landed) WHERE landed IS NOT NULL;
CREATE INDEX pages_by_host ON pages (host, landed) WHERE landed IS NOT NULL;
CREATE INDEX pages_by_source ON pages (source, landed) WHERE landed IS NOT NULL;
CREATE INDEX pages_by_body ON pages (body_hash) WHERE outcome = 'fetched' AND body_hash IS NOT NULL;

-- `kept` stands before the text so that it can be read without it.
CREATE TABLE texts (landed INTEGER PRIMARY KEY, kept INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (
    title, text, content = 'texts', content_rowid = 'landed', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
    INSERT INTO words (rowid, title, text) VALUES (new.landed, new.title, new.text);
END;
CREATE TRIGGER texts_changed AFTER UPDATE ON texts BEGIN
    INSERT INTO words (words, rowid, title, text) VALUES ('delete', old.landed, old.title, old.text);
    INSERT INTO words (rowid, title, text) VALUES (new.landed, new.title, new.text);
END;
CREATE TRIGGER texts_gone AFTER DELETE ON texts BEGIN
    INSERT INTO words (words, rowid, title, text) VALUES ('delete', old.landed, old.title, old.text);
END;

-- By the crawl that showed the link. first: 1 no source had it before, 0 another had it, NULL it came back.
CREATE TABLE links (
    crawl INTEGER NOT NULL, place INTEGER NOT NULL, source INTEGER NOT NULL, page INTEGER NOT NULL,
    added REAL NOT NULL, removed REAL, rank INTEGER NOT NULL, first INTEGER,
    PRIMARY KEY (crawl, place)
) WITHOUT ROWID;
CREATE INDEX links_by_page ON links (page, source);

-- What must go with what is forgotten. Its address is still remembered, and no longer leads to a page.
CREATE TRIGGER pages_gone AFTER DELETE ON pages BEGIN
    DELETE FROM texts WHERE landed = old.landed;
    DELETE FROM links WHERE page = old.id;
    UPDATE seen SET page = 0 WHERE page = old.id
        AND hash IN (SELECT old.hash UNION ALL SELECT hash FROM addresses WHERE page = old.id);
    DELETE FROM addresses WHERE page = old.id;
    UPDATE totals SET waiting = waiting - (old.outcome = 'waiting'), fetched = fetched - (old.outcome = 'fetched'),
        old = old - (old.outcome = 'old'), duplicate = duplicate - (old.outcome = 'duplicate'),
        soft_404 = soft_404 - (old.outcome = 'soft-404'), log_in = log_in - (old.outcome = 'log-in'),
        failed = failed - (old.outcome = 'failed'), dropped = dropped - (old.outcome = 'dropped');
END;
CREATE TRIGGER links_gone AFTER DELETE ON links BEGIN
    UPDATE totals SET links = links - 1;
END;
CREATE TRIGGER seen_gone AFTER DELETE ON seen BEGIN
    UPDATE totals SET seen = seen - 1;
END;

-- kind: crawl, hint (of a source), failure (of one), fetch (a page was settled), step (of the clock), told (clicks, to
-- the crawler).
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, source INTEGER, page INTEGER,
    status INTEGER, seconds REAL, bytes INTEGER, outcome TEXT NOT NULL DEFAULT '',
    stayed INTEGER, gone INTEGER, first INTEGER, dated INTEGER, dated_since REAL
);
CREATE INDEX log_by_source ON log (source, at) WHERE kind = 'crawl';
CREATE TABLE steps (seq INTEGER PRIMARY KEY, "by" REAL NOT NULL);
CREATE TABLE tellings (seq INTEGER PRIMARY KEY, behind INTEGER NOT NULL, upto INTEGER NOT NULL);
CREATE TRIGGER log_gone AFTER DELETE ON log BEGIN
    DELETE FROM steps WHERE seq = old.seq;
    DELETE FROM tellings WHERE seq = old.seq;
END;

-- bin is the beginning of a span of `width` seconds. Who clicked, and when exactly, is not kept. `meta` has the last id
-- that was given: AUTOINCREMENT would take half as long again.
CREATE TABLE clicks (
    id INTEGER PRIMARY KEY, page INTEGER NOT NULL, bin REAL NOT NULL, width REAL NOT NULL,
    kind TEXT NOT NULL, position INTEGER NOT NULL, count REAL NOT NULL
);
CREATE TABLE clicks_unknown (
    id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, bin REAL NOT NULL, width REAL NOT NULL,
    kind TEXT NOT NULL, position INTEGER NOT NULL, count REAL NOT NULL
);
CREATE INDEX clicks_unknown_by_hash ON clicks_unknown (hash);

CREATE TABLE hosts (
    host TEXT PRIMARY KEY, added_at REAL NOT NULL, found_at REAL, failure TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE candidates (
    host TEXT NOT NULL, url TEXT NOT NULL, first_seen REAL NOT NULL, last_seen REAL NOT NULL, PRIMARY KEY (host, url)
) WITHOUT ROWID;
CREATE TABLE linked_hosts (
    host TEXT PRIMARY KEY, pages INTEGER NOT NULL, last REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE linked_by (host TEXT NOT NULL, source INTEGER NOT NULL, PRIMARY KEY (host, source)) WITHOUT ROWID;
CREATE TRIGGER linked_hosts_gone AFTER DELETE ON linked_hosts BEGIN
    DELETE FROM linked_by WHERE host = old.host;
END;
CREATE TABLE robots (origin TEXT PRIMARY KEY, body BLOB, fetched_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE minutes (
    at REAL PRIMARY KEY, crawls INTEGER NOT NULL, pages INTEGER NOT NULL, others INTEGER NOT NULL,
    failures INTEGER NOT NULL, found INTEGER NOT NULL, price REAL
) WITHOUT ROWID;
"""

# Batches of clicks that were taken in, and what was answered: one that is sent again counts once.
_BATCHES = """
CREATE TABLE batches (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at REAL NOT NULL,
    known INTEGER NOT NULL, unknown INTEGER NOT NULL
);
"""

# What others say is new (kind: page, source; via: api, indexnow, websub), the feeds whose hubs tell us (state: asked,
# active, leaving, denied), and how far pages were sent on to a webhook (`meta`, when it first was).
_HINTS = """
CREATE TABLE hints (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL, via TEXT NOT NULL
);
CREATE TABLE subscriptions (
    id TEXT PRIMARY KEY, topic TEXT NOT NULL, hub TEXT NOT NULL, callback TEXT NOT NULL, secret TEXT NOT NULL,
    state TEXT NOT NULL, asked_at REAL NOT NULL, again_at REAL NOT NULL, until REAL,
    tries INTEGER NOT NULL, failure TEXT NOT NULL
) WITHOUT ROWID;
"""

# A source that failed is left alone until then, by the next process too. The hub a feed names, and the address the hub
# knows it by; empty: it names none.
_RETRIES_AND_HUBS = """
ALTER TABLE sources ADD COLUMN retry_at REAL;
ALTER TABLE sources ADD COLUMN hub TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN topic TEXT NOT NULL DEFAULT '';
CREATE INDEX sources_by_topic ON sources (topic) WHERE topic <> '';
"""

# For whoever watches: the budget of each minute, failures of a source in order, sites that are left alone, until when.
_WATCHING = """
ALTER TABLE minutes ADD COLUMN budget REAL;
CREATE INDEX log_failures ON log (source, at) WHERE kind = 'failure';
CREATE TABLE rests (site TEXT PRIMARY KEY, until REAL NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
"""

# All the reader must know of a page to put it in order: of two thousand it reads the index alone.
_READING = """
CREATE INDEX pages_to_read ON pages (landed, source, published, found_at) WHERE outcome = 'fetched';
"""

# Articles of other hosts that pages linked, by fingerprint, and the day one last did; by host, how many of them were
# new of late, as of `last`.
_LINKED = """
CREATE TABLE linked_pages (hash INTEGER PRIMARY KEY, day INTEGER NOT NULL);
ALTER TABLE linked_hosts ADD COLUMN fresh REAL NOT NULL DEFAULT 0;
"""

# What was learned of all sources together, as its owner writes it down: the worth of pages.
_LEARNED = """
CREATE TABLE learned (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""

MIGRATIONS: Sequence[str] = (_FIRST, _BATCHES, _HINTS, _RETRIES_AND_HUBS, _WATCHING, _READING, _LINKED, _LEARNED)


def migrate(database: apsw.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring a database up to date, after a copy of it is made; refuse one that is newer or not ours."""
    if _version(database, path, migrations) == len(migrations):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        have = _version(database, path, migrations)  # another process may have been quicker
        if have:
            _copy(path, path.with_name(f"{path.name}.before-v{len(migrations)}"))
        for step in migrations[have:]:
            database.execute(step)
        if not have:
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            # A seed nobody knows: addresses cannot be chosen to have the fingerprints of others.
            database.execute("INSERT INTO meta VALUES ('seed', ?)", (secrets.randbits(63),))
        database.execute(f"PRAGMA user_version = {len(migrations)}")
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def check_version(database: apsw.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Refuse a database that cannot be read as it is."""
    have = _version(database, path, migrations)
    if have != len(migrations):
        raise RunError(
            f"{path} has schema {have} and this Mayfly reads {len(migrations)}: "
            "run a command that writes to it (as `mayfly crawl`), which brings it up to date after making a copy"
        )


def _version(database: apsw.Connection, path: Path, migrations: Sequence[str]) -> int:
    """How many steps it has had; 0: it is empty."""
    owner, have = int(database.pragma("application_id")), int(database.pragma("user_version"))
    if owner != APPLICATION_ID:
        if owner == have == 0 and database.execute("SELECT count(*) FROM sqlite_schema").get == 0:
            return 0
        raise RunError(f"{path} is a database, but not one of Mayfly's: move it away, or name another --home")
    if have > len(migrations):
        raise RunError(
            f"{path} has schema {have}, this Mayfly knows up to {len(migrations)}: update Mayfly, or go back to the "
            f"copy that was made before, {path.name}.before-v{have}"
        )
    return have


def _copy(path: Path, to: Path) -> None:
    """A copy that is whole or not there. Read through a connection of its own: the other one is about to write."""
    unfinished = to.with_name(to.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    copy = apsw.Connection(str(unfinished))
    try:
        with copy.backup("main", source, "main") as backup:
            backup.step(-1)
    finally:
        copy.close()
        source.close()
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(to)
