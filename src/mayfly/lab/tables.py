"""Tables on disk as columns of text or numbers: CSV, CSV.gz or Parquet. Every complaint names file and row."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mayfly.core.model import FloatArray, IntArray
from mayfly.errors import TraceError, UsageError

SUFFIXES = (".csv", ".csv.gz", ".parquet")


class Table:
    """Columns by name. Row numbers in complaints count from 1 below the header."""

    def __init__(self, file: str, columns: dict[str, Sequence[Any]]) -> None:
        self.file = file
        self._columns = columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def text(self, name: str) -> list[str]:
        """A column as text."""
        if name not in self._columns:
            raise TraceError(self.file, f"there is no column '{name}' (columns: {', '.join(self._columns)})")
        return ["" if cell is None else str(cell) for cell in self._columns[name]]

    def numbers(self, name: str, empty: float | None = None) -> FloatArray:
        """A column as finite numbers; empty cells become `empty`, where that is given."""
        if name not in self._columns:
            raise TraceError(self.file, f"there is no column '{name}' (columns: {', '.join(self._columns)})")
        cells = self._columns[name]
        try:
            if empty is not None:
                cells = [empty if cell is None or cell == "" else cell for cell in cells]
            values = np.array(cells, dtype=float)
        except (TypeError, ValueError):
            row = next(row for row, cell in enumerate(cells, 1) if not _is_number(cell))
            raise TraceError(self.file, f"{name} is not a number: '{cells[row - 1]}'", row) from None
        self.refuse(~np.isfinite(values) & (values != empty), f"{name} is not a finite number")
        return values

    def ids(self, name: str, known: dict[str, int], what: str) -> IntArray:
        """A column of ids as numbers of their rows in another table."""
        cells = self.text(name)
        try:
            return np.fromiter(map(known.__getitem__, cells), np.int64, len(cells))
        except KeyError as missing:
            row = cells.index(missing.args[0]) + 1
            raise TraceError(self.file, f"unknown {what} '{cells[row - 1]}'", row) from None

    def own_ids(self, name: str) -> tuple[list[str], dict[str, int]]:
        """The column that names this table's rows: each once."""
        cells = self.text(name)
        rows = {cell: row for row, cell in enumerate(cells)}
        if len(rows) < len(cells):
            row = next(row for row, cell in enumerate(cells, 1) if rows[cell] != row - 1)
            raise TraceError(self.file, f"{name} '{cells[row - 1]}' stands there twice", row)
        return cells, rows

    def refuse(self, wrong: Any, reason: str) -> None:
        """Complain of the first row for which `wrong` is true."""
        if np.any(wrong):
            raise TraceError(self.file, reason, int(np.argmax(wrong)) + 1)


def find_table(folder: Path, name: str) -> Path | None:
    """The file of a table, in whatever form it is kept."""
    found = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").exists()]
    if len(found) > 1:
        raise TraceError(str(folder), f"'{name}' is there twice: {found[0].name} and {found[1].name}; keep one")
    return found[0] if found else None


def read_table(folder: Path, name: str) -> Table:
    """Read a table, or say which files were looked for."""
    path = find_table(folder, name)
    if path is None:
        raise TraceError(str(folder), f"there is no {name}.csv, {name}.csv.gz or {name}.parquet")
    return _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)


def write_table(folder: Path, name: str, columns: dict[str, Sequence[Any]], suffix: str = ".csv.gz") -> None:
    """Write a table in the form its suffix says."""
    path = folder / f"{name}{suffix}"
    if suffix == ".parquet":
        parquet = _parquet()
        parquet.write_table(_arrow().table({key: list(values) for key, values in columns.items()}), path)
        return
    rows = zip(*columns.values(), strict=True)
    if suffix == ".csv.gz":
        # No name or time in the header: the same world is the same bytes.
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
            lines = (",".join(_cell(cell) for cell in row) + "\n" for row in rows)
            file.write((",".join(columns) + "\n" + "".join(lines)).encode())
    else:
        with path.open("w", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)


def _cell(value: Any) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n\r') else text


def _read_csv(path: Path) -> Table:
    opener = gzip.open if path.suffix == ".gz" else open
    rows: list[list[str]] = []
    try:
        with opener(path, "rt", newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            rows.extend(reader)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(path.name, f"cannot be read ({error})", len(rows) + 1) from None
    if not header:
        raise TraceError(path.name, "is empty; its first line must name the columns")
    rows = [row for row in rows if row]
    uneven = next((at for at, row in enumerate(rows, 1) if len(row) != len(header)), None)
    if uneven is not None:
        raise TraceError(path.name, f"has {len(rows[uneven - 1])} cells where there are {len(header)} columns", uneven)
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in header]
    return Table(path.name, dict(zip(header, columns, strict=True)))


def _read_parquet(path: Path) -> Table:
    parquet = _parquet()
    try:
        table = parquet.read_table(path)
    except Exception as error:  # pyarrow has a tree of its own, not all of it under one root
        raise TraceError(path.name, f"cannot be read as Parquet ({str(error).splitlines()[0]})") from None
    return Table(path.name, {name: table.column(name).to_pylist() for name in table.column_names})


def _parquet() -> Any:
    _arrow()
    import pyarrow.parquet  # 165 MB, so an extra, and only where it is used

    return pyarrow.parquet


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'mayfly[parquet]', or use CSV") from None
    return pyarrow


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
