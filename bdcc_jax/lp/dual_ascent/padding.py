"""Sizes of arrays on the device: few, so that few programs are compiled."""


def room(count: int, *, least: int = 768) -> int:
    """The smallest of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is at least ``count`` and ``least``.

    Examples
    --------
    >>> [room(count) for count in (1, 1000, 1025, 5000)]
    [768, 1024, 1536, 6144]
    """
    count = max(count, least)
    power = 1 << (count - 1).bit_length()
    return 3 * power // 4 if power >= 4 and count <= 3 * power // 4 else power
