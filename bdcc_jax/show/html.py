"""Tables of names and values as HTML."""

from collections.abc import Iterable, Mapping
from html import escape


def table(rows: Mapping[str, object], bold: Iterable[str] = ()) -> str:
    """Names and values, escaped; some rows are marked to be bold."""
    left = ' style="text-align: left"'  # notebooks would have it otherwise
    marks = dict.fromkeys(bold, ' class="changed"')
    lines = [
        f"<tr{marks.get(name, '')}>"
        f"<th{left}>{escape(name)}</th><td{left}>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    ]
    return "\n".join(["<table><tbody>", *lines, "</tbody></table>"])
