"""Addresses of stores: which of them name a PostgreSQL, and how one is shown."""

from __future__ import annotations

_SCHEMES = ("postgresql://", "postgres://")


def is_postgres(address: str) -> bool:
    """Whether it names a PostgreSQL."""
    return address.startswith(_SCHEMES)


def without_password(address: str) -> str:
    """An address that may be shown: its password is left out, wherever it stands.

    >>> without_password("postgresql://me:secret@db:5432/crawl?sslmode=require&password=secret")
    'postgresql://me@db:5432/crawl?sslmode=require'
    """
    scheme, _, rest = address.partition("://")
    where, _, asked = rest.partition("?")
    user, at, host = where.rpartition("@")  # the last one: a password may have others
    query = "&".join(pair for pair in asked.split("&") if "password" not in pair.partition("=")[0])
    return f"{scheme}://{user.partition(':')[0]}{at}{host}" + (f"?{query}" if query else "")
