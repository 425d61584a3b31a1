"""A few changes of every format's headers of tests/long/contradictions.py, which judges them by the same tables."""
import os
import runpy

for key, value in {"COUNT": "6", "SEED": "1", "JOBS": "2"}.items():
    os.environ.setdefault(key, value)
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../long/contradictions.py"), run_name="__main__")
