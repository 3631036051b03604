"""What holds for all tests: generated cases are the same each time, and none fails for being slow.

HYPOTHESIS_PROFILE=explore looks for new cases instead.
"""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
