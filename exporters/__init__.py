"""Where results go. None of them can slow a measurement: they run in a process of their own."""
