"""Docstrings name what they mean by roles of Sphinx; on the site these become links."""

import re
from typing import Any

from griffe import Extension

ROLE = re.compile(r":(?:func|class|meth|mod|attr|data|exc):`~?([^`]+)`")


class Roles(Extension):
    """``:func:`~bdcc_jax.solve``` as code; short names stay as they are."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one docstring, before it is taken apart."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(r"`\1`", obj.docstring.value)
