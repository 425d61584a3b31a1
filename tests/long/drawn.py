#!/usr/bin/env python3
"""Arrays and chains of long filters, drawn at random, beside the numpy models of tests/clients (arrays.py, filter_numpy.py):
beams and visibilities of 3 to 7 stations with gaps, gains, delays that change, swapped feeds, both sidebands, real and
complex; up to three filters, real and complex, that decimate, pad and keep their delay. Each runs again, cut otherwise
and on BACKEND if that is given, to the same bytes; `verify` agrees.

    COUNT=60 SEED=1 tests/long/drawn.py      # jobs of the seeds 1 to 60, arrays and filters in turn
    SEEDS="5 17" BACKEND=opencl tests/long/drawn.py"""
import os
import sys
import traceback

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../clients"))
import arrays
import filter_numpy
from common import Failed, finish, note, ok, same, scratch, voltmill

COUNT, SEED = int(os.environ.get("COUNT", "60")), int(os.environ.get("SEED", "1"))
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "").split()] or list(range(SEED, SEED + COUNT))
BACKEND = os.environ.get("BACKEND")


def cut(dice):
    run = {"threads": int(dice.integers(1, 5)), "memory": f"{int(dice.choice([128, 200, 700]))}MiB"}
    if dice.random() < 0.6:
        run["chunk"] = int(dice.choice([16, 48, 160, 1000]))
    return run, [None, 1, 2, 3][int(dice.integers(0, 4))]


def drawn_array(dice, name):
    stations, pols, real = int(dice.integers(3, 8)), int(dice.choice([1, 2, 2])), dice.random() < 0.3
    more = {"pols": pols, "chans": int(dice.integers(1, 3)), "samples": int(dice.integers(2500, 8000)), "real": bool(real),
            "sideband": int(dice.choice([-1, 1])), "integrate": int(dice.choice([2, 5, 12, 31])),
            "bank": {"channels": int(dice.choice([12, 16, 24, 32])), "taps": int(dice.choice([1, 2, 3, 4, 8, 11]))}}
    if dice.random() < 0.3 and not real:
        more["archive"] = {"oversampling_num": 4, "oversampling_den": 3}
        more["bank"]["channels"] = int(dice.choice([16, 32]))
    elif dice.random() < 0.3:
        more["bank"].update(channels=int(dice.choice([12, 24])), oversample={"num": 4, "den": 3})
    if dice.random() < 0.6:
        delays = np.zeros((stations, 3))
        delays[1:, 0] = dice.normal(0, dice.choice([1e-7, 3e-5, 2e-4]), stations - 1)
        delays[1:, 1] = dice.normal(0, dice.choice([0, 1e-6, 2e-3]), stations - 1)
        delays[1:, 2] = dice.normal(0, dice.choice([0, 0, 3e-2]), stations - 1)
        more["delays"] = delays
    streams = stations * pols * more["chans"]
    if dice.random() < 0.5:
        more["gaps"] = [[int(dice.integers(0, more["samples"] - 600)), int(dice.choice([1, 30, 600])), int(stream)]
                        for stream in dice.choice(streams, min(streams, int(dice.integers(1, 9))), replace=False)]
    if dice.random() < 0.3 and stations > 3:
        more["flagged"] = [3]
    if dice.random() < 0.3 and pols == 2:
        more["swapped"] = [int(dice.integers(0, stations))]
    more["gains"] = bool(dice.random() < 0.3)
    more["filtered"] = bool(dice.random() < 0.2)
    if dice.random() < 0.2 and not more["filtered"]:
        more["centre"] = (float(dice.uniform(0, 360)), float(dice.uniform(20, 90)))
    note(f"{name}: {stations} stations, {more}")
    made = arrays.Array(name, stations, **more)
    # Numbers of one spectrum, and after filters delays of many samples (docs/arrays.md).
    arrays.LIMIT = 6e-7 + (1.3e-7 * np.abs(made.delay([0, made.samples / arrays.RATE])).max() * arrays.RATE if made.filtered else 0)
    return made


def one_array(dice, name):
    array = drawn_array(dice, name)
    if array.centre:
        # The bounds of a centre's delays are the program's own: take the whole samples from there, as arrays.py does.
        voltmill("run", array.job(name, [{"kind": "power", "integrate": 7}], {"up": (0, 90)}))
        said = voltmill("plan", "--force", scratch(name + ".yaml"))
        with arrays.h5py.File(scratch(name + "-0.h5")) as file:
            array.compute(file["coefficients"][...], arrays.plan_cell(said) or 1)
        arrays.check_beams(array)
        beams = True
    else:
        average = int(dice.choice([n for n in (1, 2, 4) if (array.keep or array.bank["channels"]) % n == 0]))
        array.products = lambda ignored, made=array.products: made(average)
        arrays.check(array, average)
        beams = bool(dice.random() < 0.5)
        if beams:
            arrays.check_beams(array)
    run, ranks = cut(dice)
    if BACKEND:
        run["memory"] = "900MiB"
        array.bank["backend"] = BACKEND
    arrays.same_bytes(array, beams, [(f"{run} on {ranks}", ranks, run)]) if not BACKEND else again(array, beams, run, ranks)


def again(array, beams, run, ranks):
    """On another backend: within its tolerance, as `verify` says."""
    products = array.beam_products() if beams else array.products(4)
    voltmill("run", "--force", array.job("device", products, arrays.BEAMS if beams else None, run=run), ranks=ranks)
    for i, product in enumerate(products):
        said = voltmill("verify", "--all", scratch(f"device-{i}.h5"))
        ok("agrees with the reference" in said, f"{array.name}: {product['kind']} on {BACKEND}", said)


def one_filter(dice, name):
    real = bool(dice.random() < 0.4)
    filter_numpy.random = dice
    chain, every, samples = [], 1, filter_numpy.SAMPLES[real]
    for i in range(int(dice.choice([1, 1, 2, 3]))):
        taps = int(dice.choice([1, 2, 3, 17, 64, 200, 511, 1500]))
        decimate = int(dice.choice([1, 1, 2, 3, 5, 16]))
        is_complex = bool(dice.random() < 0.3)
        chain.append(filter_numpy.Filter(f"{name}-{i}", filter_numpy.noise(taps, is_complex), decimate=decimate,
                                         delay=str(dice.choice(["compensate", "keep"])), edges=str(dice.choice(["valid", "pad"]))))
        every *= decimate
    note(f"{name}: {'real' if real else 'complex'}, " +
         "; ".join(f"{len(f.coeff)} {f.coeff.dtype} /{f.decimate} {f.delay} {f.edges}" for f in chain))
    archives = filter_numpy.make_archives()
    method = str(dice.choice(["direct", "overlap-save", "auto"]))
    path = filter_numpy.check(name, archives, real, chain, method)
    run, ranks = cut(dice)
    if BACKEND:
        run["memory"] = "900MiB"
    sets = [f"run.{key}={value}" for key, value in run.items()]
    if BACKEND:
        filter_numpy.check(name + "-device", archives, real, chain, method, ranks=ranks,
                           sets=sets + [f"filter.{i}.backend={BACKEND}" for i in range(len(chain))])
    else:
        other = filter_numpy.run(name + "-again", archives[real], chain, method, sets=sets, ranks=ranks)
        same(filter_numpy.bytes_of(other) == filter_numpy.bytes_of(path), True, f"{name}: the same bytes, {sets} on {ranks}")
    ok("agrees" in voltmill("verify", path), f"{name}: verify")


for seed in SEEDS:
    dice = np.random.default_rng(seed)
    try:
        one_array(dice, f"a{seed}") if seed % 2 else one_filter(dice, f"f{seed}")
    except Failed as failure:
        ok("but there are only" in str(failure), f"job {seed}", str(failure)[:1500])
    except Exception:
        ok(False, f"job {seed}", traceback.format_exc())
finish()
