"""The cheapest way from one list of tokens to another.

rapidfuzz aligns the canonical texts at the speed of C. Only where they differ is there anything
left to decide: there a small table is filled in Python whose moves are match, substitute, delete,
insert, and "these words say the same as those" for what the normaliser finds divided differently.
The table is a band around the way that rapidfuzz found, so that a hopeless text stays affordable.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein, Opcode

from scoring.normalize.shape import Normalizer, Region, Same, Token

MARGIN_WORDS = 3
"""How many equal words on either side of a difference are looked at again with it."""
BAND_WORDS = 12
"""How far the table reaches to either side of the way that was found first."""


@dataclass(frozen=True, slots=True)
class Step:
    """The next words of both lists: equal, or one of them (or each) an error."""

    first: int
    first_words: int
    second: int
    second_words: int
    equal: bool
    rule: str | None = None


def aligned(
    first: Sequence[Token], second: Sequence[Token], normalizer: Normalizer
) -> Iterator[Step]:
    """Every step from the beginning of both lists to their end, with the fewest errors."""
    at_first = at_second = 0
    for region, way in _regions([t.text for t in first], [t.text for t in second]):
        for offset in range(region.reference_start - at_first):
            yield Step(at_first + offset, 1, at_second + offset, 1, equal=True)
        same = list(normalizer.same(first, second, region))
        yield from _Table(first, second, region, way, same).steps()
        at_first, at_second = region.reference_stop, region.hypothesis_stop
    for offset in range(len(first) - at_first):
        yield Step(at_first + offset, 1, at_second + offset, 1, equal=True)


Way = list[tuple[int, int]]
"""For each row of a region's table, the first and the last column that the first way visits."""
Move = tuple[int, int, bool, str | None]
"""Down, right, whether that is equal, and by which rule."""


def _regions(first: list[str], second: list[str]) -> Iterator[tuple[Region, Way]]:
    """Where the lists differ, with the way through each such region."""
    groups: list[list[Opcode]] = []
    for code in Levenshtein.opcodes(first, second):
        if code.tag == "equal":
            continue
        if groups and code.src_start - groups[-1][-1].src_end <= 2 * MARGIN_WORDS:
            groups[-1].append(code)
        else:
            groups.append([code])
    for group in groups:
        begin, end = group[0], group[-1]
        before = min(MARGIN_WORDS, begin.src_start, begin.dest_start)
        after = min(MARGIN_WORDS, len(first) - end.src_end, len(second) - end.dest_end)
        region = Region(
            begin.src_start - before,
            end.src_end + after,
            begin.dest_start - before,
            end.dest_end + after,
        )
        yield region, _way(region, group)


def _way(region: Region, group: list[Opcode]) -> Way:
    """The way as it was found: diagonal, but down where words are deleted, right where inserted."""
    column = 0
    way = [(0, 0)]

    def diagonal(rows: int) -> None:
        nonlocal column
        for _ in range(rows):
            column += 1
            way.append((column, column))

    row = region.reference_start
    for code in group:
        diagonal(code.src_start - row)
        row = code.src_end
        if code.tag == "delete":
            way.extend([(column, column)] * (code.src_end - code.src_start))
        elif code.tag == "insert":
            way[-1] = (way[-1][0], column + code.dest_end - code.dest_start)
            column = way[-1][1]
        else:
            diagonal(code.src_end - code.src_start)
    diagonal(region.reference_stop - row)
    return way


class _Table:
    """Least costs from the corner of a region to each pair of places in it."""

    def __init__(
        self,
        first: Sequence[Token],
        second: Sequence[Token],
        region: Region,
        way: Way,
        same: list[Same],
    ) -> None:
        self._rows = first[region.reference_start : region.reference_stop]
        self._columns = second[region.hypothesis_start : region.hypothesis_stop]
        self._region = region
        width = len(self._columns)
        self._band = [(max(0, a - BAND_WORDS), min(width, b + BAND_WORDS)) for a, b in way]
        self._jumps: dict[tuple[int, int], list[Same]] = {}
        for group in same:
            ends = (
                group.reference + group.reference_words - region.reference_start,
                group.hypothesis + group.hypothesis_words - region.hypothesis_start,
            )
            self._jumps.setdefault(ends, []).append(group)

    def steps(self) -> Iterator[Step]:
        """The way with the lowest cost, from the beginning."""
        moves = self._filled()
        row, column = len(self._rows), len(self._columns)
        back = []
        while row or column:
            down, right, equal, rule = moves[row][column]
            row, column = row - down, column - right
            back.append(
                Step(
                    self._region.reference_start + row,
                    down,
                    self._region.hypothesis_start + column,
                    right,
                    equal,
                    rule,
                )
            )
        yield from reversed(back)

    def _filled(self) -> list[dict[int, Move]]:
        far = len(self._rows) + len(self._columns) + 1
        costs: list[dict[int, int]] = []
        moves: list[dict[int, Move]] = []
        for row, (low, high) in enumerate(self._band):
            above = costs[row - 1] if row else {}
            here: dict[int, int] = {}
            came: dict[int, Move] = {}
            costs.append(here)
            moves.append(came)
            for column in range(low, high + 1):
                if row == column == 0:
                    here[0] = 0
                    continue
                best = far
                move: Move = (0, 1, False, None)
                if row and column and (cost := above.get(column - 1, far)) < far:
                    best, move = self._diagonal(row, column, cost)
                if (cost := above.get(column, far) + 1) < best:
                    best, move = cost, (1, 0, False, None)
                if (cost := here.get(column - 1, far) + 1) < best:
                    best, move = cost, (0, 1, False, None)
                for group in self._jumps.get((row, column), ()):
                    start = costs[row - group.reference_words]
                    if (cost := start.get(column - group.hypothesis_words, far)) < best:
                        best, move = cost, _jump(group)
                here[column], came[column] = best, move
        return moves

    def _diagonal(self, row: int, column: int, cost: int) -> tuple[int, Move]:
        """One word against one word."""
        left, right = self._rows[row - 1], self._columns[column - 1]
        if left.text == right.text:
            return cost, (1, 1, True, None)
        if left.matches(right):
            return cost, (1, 1, True, "readings")
        return cost + 1, (1, 1, False, None)


def _jump(group: Same) -> Move:
    return (group.reference_words, group.hypothesis_words, True, group.rule)
