import io

import pytest

from bdcc_jax.base.streams import Lenient, is_terminal


class Full(io.StringIO):
    def write(self, _):
        raise OSError(28, "No space left on device")


def test_a_lenient_stream():
    assert not is_terminal(None)
    for stream in (None, Full()):
        lenient = Lenient(stream)
        assert lenient.write("text") == 4
        lenient.flush()
        assert not lenient.isatty()
        with pytest.raises(io.UnsupportedOperation):
            lenient.fileno()
