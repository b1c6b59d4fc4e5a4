"""What a file that cannot be understood raises."""

from __future__ import annotations


class FormatError(ValueError):
    """A file's content is not what its format asks for; says where and what was expected."""
