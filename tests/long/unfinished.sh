#!/usr/bin/env bash
# tests/faults/unfinished.sh with a kill before every call that writes, and of runs of all kinds of products.
VOLTMILL_TEST_ALL=1 exec bash "$(dirname "$0")/../faults/unfinished.sh"
