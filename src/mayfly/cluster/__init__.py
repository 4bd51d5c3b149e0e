"""RUN on many machines: Ray places and restarts shards, PostgreSQL holds all state and says who owns a shard."""
