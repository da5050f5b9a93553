"""How many examples the Python fuzzers draw: USMPY_FUZZ_EXAMPLES, which ``run.py --python`` sets."""

import os

from hypothesis import HealthCheck, settings


def examples(few: int) -> settings:
    """Settings with `few` examples a test, or as many as were asked for."""
    return settings(
        deadline=None,
        max_examples=int(os.environ.get("USMPY_FUZZ_EXAMPLES", few)),
        suppress_health_check=list(HealthCheck),
    )
