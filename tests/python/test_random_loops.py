"""Random loops natively and as bytecode beside numpy, with guard zones around all memory (random_loops.py, which runs as many
as one likes)."""

import pytest

import random_loops


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_loops(first):
    for seed in range(first, first + 10):
        random_loops.compare(seed)
