from hypothesis import given, settings
from hypothesis import strategies as st

from bdcc_jax.base.heap import clear, new_heap, pop, put, remove


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(-3, 3)), max_size=40))
def test_the_heap_does_what_a_sorted_list_does(steps):
    heap, expected = new_heap(8), {}
    for item, priority in steps:
        if priority == -3:
            remove(heap, item)
            expected.pop(item, None)
        elif priority == 3 and expected:
            first = min(expected, key=lambda i: (-expected[i], i))
            assert pop(heap) == first
            del expected[first]
        else:
            put(heap, item, float(priority))
            expected[item] = priority
        assert heap.size[0] == len(expected)
    left = [pop(heap) for _ in range(len(expected))]
    assert left == sorted(expected, key=lambda i: (-expected[i], i))


def test_a_cleared_heap_is_as_new():
    heap = new_heap(3)
    for item in range(3):
        put(heap, item, 1.0)
    clear(heap)
    put(heap, 2, 5.0)
    assert heap.size[0] == 1
    assert heap.place.tolist() == [-1, -1, 0]
