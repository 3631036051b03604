"""Where in a file a mistake is, and in which table: for errors of every file that users write."""

from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

Location = tuple[int | str, ...]
"""The names and positions on the way to a setting, as pydantic gives them."""


def place(location: Location) -> str:
    """`model[1].name`, counting from 1 as people do."""
    named = ""
    for part in location:
        named += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return named.lstrip(".")


def section_at(location: Location, whole: type[BaseModel]) -> type[BaseModel]:
    """The table at this place of a file whose whole is ``whole``."""
    section = whole
    for part in location:
        if isinstance(part, str) and part in section.model_fields:
            section = _table_in(section.model_fields[part].annotation) or section
    return section


def said(message: str) -> str:
    """What pydantic says of a mistake, as it goes on in the middle of a line."""
    what = message.removeprefix("Value error, ")
    return what[:1].lower() + what[1:]


def no_such_setting(location: Location, whole: type[BaseModel]) -> str:
    """What is said of a setting that there is not, with those that there are."""
    allowed = ", ".join(section_at(location[:-1], whole).model_fields)
    return f"there is no such setting; allowed: {allowed}"


def _table_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """The table that a setting holds, or a list of; None where it is a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (tuple, Union, UnionType):
        return next((found for one in get_args(annotation) if (found := _table_in(one))), None)
    return None
