"""How laws are tried in this room: the same examples every time, and no clock."""

from hypothesis import settings

LAW = settings(derandomize=True, deadline=None, max_examples=500)
