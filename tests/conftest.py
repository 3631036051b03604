"""What holds for all tests: generated cases are the same each time, and none fails for being slow.

HYPOTHESIS_PROFILE=explore looks for new cases instead; mutants looks for the first failure only.
"""

import os

from hypothesis import Phase, settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.register_profile(
    "mutants", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
