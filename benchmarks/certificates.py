"""Certificates for TLS over loopback, made when they are needed."""

from dataclasses import dataclass
from pathlib import Path

import trustme

from benchmarks.load import HOST


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where they lie."""

    ca: Path
    """What clients trust."""
    server: Path
    """Key and chain of the receiver."""


def make(folder: Path) -> Certificates:
    """New ones, in ``folder``."""
    authority = trustme.CA()
    made = Certificates(folder / "ca.pem", folder / "server.pem")
    authority.cert_pem.write_to_path(made.ca)
    authority.issue_cert(HOST).private_key_and_cert_chain_pem.write_to_path(made.server)
    return made
