"""One file per command of ``speechbench``: ``HELP``, ``arguments(parser)``, ``run(args)``."""
