"""A few changes of every format's headers of tests/long/contradictions.py, which judges them by the same tables."""
import os
import runpy

from common import ENVIRONMENT

for key, value in {"COUNT": "3", "SEED": ENVIRONMENT["VOLTMILL_TEST_SEED"], "JOBS": "2"}.items():
    os.environ.setdefault(key, value)
print(f"# the changes of SEED={os.environ['SEED']}, COUNT={os.environ['COUNT']}")
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../long/contradictions.py"), run_name="__main__")
