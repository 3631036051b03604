"""Finds the largest number of streams that still passes, with few tries. Pure."""

from collections.abc import Sequence


class Search:
    """Ask ``next``, try it, ``tell``; ``largest`` when there is nothing left to ask."""

    def __init__(self, grid: Sequence[int], first: int) -> None:
        """``grid`` rises; the search begins near ``first``."""
        self._grid = grid
        self._passed, self._failed = -1, len(grid)
        self._at = max((i for i, n in enumerate(grid) if n <= first), default=0)

    @property
    def next(self) -> int | None:
        """What to try now; None where the answer is known."""
        return None if self._failed - self._passed == 1 else self._grid[self._at]

    @property
    def largest(self) -> int:
        """The largest that has passed; 0 where none has."""
        return self._grid[self._passed] if self._passed >= 0 else 0

    def tell(self, passed: bool) -> None:
        """How the one that was asked for last went."""
        if passed:
            self._passed = self._at
        else:
            self._failed = self._at
        self._at = self._where_next()

    def _where_next(self) -> int:
        """Two steps on while one end is open, then the middle."""
        if self._failed == len(self._grid):
            return min(self._passed + 2, len(self._grid) - 1)
        if self._passed == -1:
            return max(self._failed - 2, 0)
        return (self._passed + self._failed) // 2
