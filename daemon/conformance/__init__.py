"""What every codec promises, checked against its conversations and its fake."""

import daemon.fakes  # noqa: F401  the fakes are made with the talker of this package: they go first
