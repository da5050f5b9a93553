"""A sub-interpreter cannot import usmpy, and the main interpreter does not notice."""

import sys

import usmpy

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

x = usmpy.arange(10, device="host")
code = f"""
import sys
sys.path[:] = {sys.path!r}
try:
    import usmpy
except ImportError as error:
    assert 'sub' in str(error) and 'interpreter' in str(error), error
else:
    raise AssertionError('imported')
"""
for _ in range(3):
    interpreter = interpreters.create()
    problem = interpreters.run_string(interpreter, code)
    assert problem is None, problem
    interpreters.destroy(interpreter)
    x[...] = 5
    assert x.tolist() == [5] * 10
    assert usmpy.Queue("host").host_task(int).wait() is None
print("ok")
