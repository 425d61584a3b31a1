#!/usr/bin/env python3
"""Loss of a search as ddplan predicts it, compared with injections (tests/clients/mocks/halfway.py): narrow and
wide bands, coarse and fine tolerances, wide bursts."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clients"))
from common import finish, note, ok
from mocks.halfway import halfway

CASES = {"128 MHz at 1.4 GHz": (1500 - 4.0 * np.arange(32), 1e-3, 2500),
         "400 MHz at 1.3 GHz": (1500 - 400 / 512 * np.arange(512), 256e-6, 1200),
         "400 MHz at 600 MHz": (800 - 400 / 512 * np.arange(512), 1e-3, 300),
         "tolerance 1.05": (1500 - 400 / 256 * np.arange(256), 256e-6, 400, 0.0, 1.05),
         "tolerance 1.6": (1500 - 400 / 256 * np.arange(256), 256e-6, 400, 0.0, 1.6),
         "bursts of 3 ms": (1500 - 400 / 128 * np.arange(128), 256e-6, 600, 3e-3)}
worst = 0.0
for number, (name, case) in enumerate(CASES.items()):
    losses = halfway(f"case{number}", *case)
    off = max(abs(printed - measured) for printed, measured in losses)
    worst = max(worst, off)
    note(f"{name}: " + ", ".join(f"{printed:.1f} ({measured:.1f})" for printed, measured in losses))
    ok(losses and off < 3, f"{name}: as ddplan says", losses)
note(f"printed and measured losses differ by {worst:.1f} percentage points at most")
finish()
