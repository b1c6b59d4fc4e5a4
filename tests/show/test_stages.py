import io
import sys

import pytest

from bdcc_jax.show import stages
from bdcc_jax.show.stages import Stages


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work(shown, monkeypatch, stream):
    monkeypatch.setattr(stages, "INTERVAL", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    measured = Stages(shown)
    with measured("reading pairs") as told:
        told(30, 120)
        told(120, 120)
    with measured("numbering records"):
        pass
    assert list(measured.seconds) == ["reading pairs", "numbering records"]
    return stream.getvalue()


def test_a_bar_on_a_terminal(monkeypatch):
    drawn = work(True, monkeypatch, Terminal()).split("\r\x1b[K")
    assert drawn[0] == ""
    assert drawn[1] == "reading pairs ..."
    assert drawn[2].startswith("reading pairs [######..................]  25 % 30 rows, ")
    assert drawn[3].startswith("reading pairs [########################] 100 % 120 rows, ")
    assert drawn[4:] == ["", "numbering records ...", ""]


@pytest.mark.parametrize(("shown", "stream"), [(True, io.StringIO), (False, Terminal)])
def test_nothing_in_a_pipe_or_where_nobody_asked(monkeypatch, shown, stream):
    assert work(shown, monkeypatch, stream()) == ""


def test_the_bar_is_gone_after_an_error(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(ValueError, match="no such column"), Stages(True)("reading pairs"):
        raise ValueError("no such column")
    assert stream.getvalue().endswith("\r\x1b[K")
