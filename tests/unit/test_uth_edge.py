"""The sampled edge of Ultimate contains what is published for it."""

import pytest

from benchmarks.uth_edge import PUBLISHED, interval, sample, tables


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_published_edges_lie_within_the_sampled_intervals() -> None:
    for name, edges in sample(24, 1, tables()).items():
        mean, half = interval(edges)
        assert mean - half <= PUBLISHED[name] <= mean + half, (name, mean, half)
