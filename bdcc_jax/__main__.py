"""``python -m bdcc_jax`` is ``bdcc-jax``."""

import sys

from bdcc_jax_cli import main

sys.exit(main())
