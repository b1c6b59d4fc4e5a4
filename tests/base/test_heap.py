import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bdcc_jax.base.heap import drop_top, push


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), max_size=60))
def test_like_heapq(steps):
    """None drops the smallest; a number is put in, with its place as the node."""
    keys, nodes, size = np.empty(60), np.empty(60, dtype=np.int32), 0
    reference = []
    for node, key in enumerate(steps):
        if key is not None:
            push(keys, nodes, size, key, node)
            heapq.heappush(reference, key)
            size += 1
        elif size:
            drop_top(keys, nodes, size)
            heapq.heappop(reference)
            size -= 1
        assert sorted(keys[:size]) == sorted(reference)
        assert not size or keys[0] == reference[0]
        assert all(steps[node] == key for key, node in zip(keys[:size], nodes[:size], strict=True))
