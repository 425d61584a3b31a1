"""Some of the damaged files of packets of tests/long/resync.py, beside the same plain reader."""
import os
import runpy

os.environ.setdefault("COUNT", "5")
os.environ.setdefault("SEED", "23")
os.environ.setdefault("RANKS", "2")
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../long/resync.py"), run_name="__main__")
