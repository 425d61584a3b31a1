"""Some of the random jobs of tests/long/jobs.py, beside the same numpy model."""
import os
import runpy

os.environ.setdefault("COUNT", "6")
os.environ.setdefault("SEED", "7")
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../long/jobs.py"), run_name="__main__")
