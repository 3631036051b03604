"""The harness's own error on this host: what was measured, minus what was true.

A server with known delays runs in a process of its own and puts its own stamps into its messages.
Sessions are measured against it as against any provider; server and sessions share CLOCK_MONOTONIC,
so the two can be compared to the microsecond. docs/selftest.md says how to read the outcome.

    course ─> sessions ─> measurements ─┐
                 │  ^                   ├─> figures ─> verdict, advice ─> SelftestResult
       known-delay server ─> its stamps ┘                            stored, and in signatures
"""
