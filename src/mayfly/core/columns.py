"""Columns that grow: numpy arrays of one length, with room to spare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """Named columns by source number, host number or slot. Attributes are views of the rows in use.

    >>> cells = Columns(rate=0.0, host=0)
    >>> cells.grow(2)
    >>> cells.rate[1] = 0.5
    >>> cells.grow(3)
    >>> cells.rate.tolist()
    [0.0, 0.5, 0.0]
    """

    def __init__(self, **blank: float | bool | tuple[int, ...]) -> None:
        """Each name with its blank value; a tuple makes rows of that shape, of float32 zeros."""
        self._blank = blank
        self._room: dict[str, NDArray[Any]] = {}
        self.size = 0
        for name, value in blank.items():
            shape, dtype = (value, np.dtype(np.float32)) if isinstance(value, tuple) else ((), np.asarray(value).dtype)
            self._room[name] = np.zeros((0, *shape), dtype)
        self._point()

    def grow(self, size: int) -> None:
        """Make room for `size` rows; new ones are blank."""
        if size <= self.size:
            return
        for name, value in self._blank.items():
            room = self._room[name]
            if len(room) < size:
                bigger = np.zeros((max(16, size, len(room) * 3 // 2), *room.shape[1:]), room.dtype)
                if not isinstance(value, tuple):
                    bigger[self.size :] = value
                bigger[: self.size] = room[: self.size]
                self._room[name] = bigger
        self.size = size
        self._point()

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Keep only these rows, in this order."""
        for name, value in self._blank.items():
            room = self._room[name]
            room[: len(rows)] = room[rows]
            room[len(rows) :] = 0 if isinstance(value, tuple) else value
        self.size = len(rows)
        self._point()

    def _point(self) -> None:
        for name, room in self._room.items():
            setattr(self, name, room[: self.size])

    def __getattr__(self, name: str) -> NDArray[Any]:  # for type checkers; columns are set by _point
        raise AttributeError(name)
