"""``python -m bdcc_jax`` is ``bdcc-jax``."""

import sys

from .cli import main

sys.exit(main())
