"""A configuration as TOML, as it is in force: with all defaults, and without anything secret."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import tomli_w

from daemon.config import Settings

MASK = "***"


def dumped(settings: Settings) -> str:
    """All of it; what reads it back means the same, but for what is masked."""
    return tomli_w.dumps(_shown(settings.model_dump(mode="json", exclude_none=True)))


def _shown(value: Any, name: str = "") -> Any:  # noqa: ANN401  whatever TOML knows
    if isinstance(value, dict):
        return {key: _shown(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner, name) for inner in value]
    return masked_address(value) if name == "url" else value


def masked_address(url: str) -> str:
    """An address may carry a name, a password or a token: they are left out."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{MASK}@{host}" if "@" in parts.netloc else host
    query = "&".join(f"{name}={MASK}" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    return parts._replace(netloc=netloc, query=query, fragment="").geturl()
