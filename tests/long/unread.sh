#!/usr/bin/env bash
# tests/faults/unread.sh with every call on every input that fails.
VOLTMILL_TEST_ALL=1 exec bash "$(dirname "$0")/../faults/unread.sh"
