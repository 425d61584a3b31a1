#!/usr/bin/env bash
# tests/faults/allocate.sh with memory refused at every place, of every rank.
VOLTMILL_TEST_ALL=1 exec bash "$(dirname "$0")/../faults/allocate.sh"
