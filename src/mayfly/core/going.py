"""The going price: what the last crawls earned, beside what could be spent while they did.

Both are means over the same crawls. So they are a point of the demand as it shows itself, however late the price is in
following what may be spent.
"""

from __future__ import annotations

from mayfly.core.model import PerSecond

_MEMORY = 12  # crawls


class Going:
    """A mean that forgets, and takes its first values as they are.

    >>> going = Going()
    >>> for key in (4.0, 2.0):
    ...     going.paid(key, budget=8.0)
    >>> going.price, going.spent
    (3.0, 8.0)
    """

    def __init__(self) -> None:
        self.price = 0.0  # ω; 0: nothing was crawled yet
        self.spent: PerSecond = 0.0
        self._crawls = 0

    def paid(self, key: float, budget: PerSecond) -> None:
        """A source was crawled that was worth so much, under this budget."""
        self._crawls = min(self._crawls + 1, _MEMORY)
        self.price += (key - self.price) / self._crawls
        self.spent += (budget - self.spent) / self._crawls
