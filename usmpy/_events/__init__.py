"""Events in Python: await, and the exceptions of host tasks."""
