"""What people type. All wiring is here; each command has one file. Read `app.py` first."""

from mayfly.cli.app import main

__all__ = ["main"]
