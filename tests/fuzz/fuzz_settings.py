"""How many examples the Python fuzzers draw: pytest's --examples, which ``run.py --python`` gives."""

import options
from hypothesis import HealthCheck, settings


def examples(few: int) -> settings:
    """Settings with `few` examples a test, or as many as were asked for."""
    return settings(
        deadline=None,
        max_examples=options.value("examples", few),
        suppress_health_check=list(HealthCheck),
    )
