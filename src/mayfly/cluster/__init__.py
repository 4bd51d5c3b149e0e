"""The same crawl on many machines: Ray places shards, PostgreSQL decides who owns them. Read `placement.py` first."""
