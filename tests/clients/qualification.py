"""`make qualification` in small: each claim of README.md has a check, and a promise that is broken on purpose turns its row
red (tests/long/qualification.py breaks all of them, and runs the whole)."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["BROKEN"] = "Traceable"
sys.exit(subprocess.run([sys.executable, os.path.join(ROOT, "tests", "long", "qualification.py")], check=False).returncode)
