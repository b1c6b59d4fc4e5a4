"""What pytest leaves out: modules for packages that nobody has to have."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["bdcc_jax/layers/torch.py"]
