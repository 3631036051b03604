"""Where speech starts and ends, as Silero VAD hears it.

onnxruntime is imported in this room alone, and never before these lines have run.
"""

import os

# onnxruntime sends usage reports and leaves files in the user's cache, unless it is told otherwise
# before its first import. A host that measures has no traffic of its own; who wants the reports
# all the same sets the variable to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
