"""What this runs on, for bug reports."""

import platform
from importlib.metadata import PackageNotFoundError, version

import jax

NEEDED = ("bdcc-jax", "highspy", "jax", "jaxlib", "numba", "numpy", "scipy")
EXTRAS = ("cvxpylayers", "scikit-image", "scikit-learn", "matplotlib", "rich", "networkx", "pandas")


def install_hint(extra: str) -> str:
    """How to get the packages of an extra; nothing is published yet, so from a clone."""
    return f'pip install ".[{extra}]" in a clone of bdcc_jax'


def package_version(package: str = "bdcc-jax") -> str:
    """Return the version of an installed package, or say that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def environment() -> dict[str, str]:
    """Return the versions and devices that matter, by name."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{package: package_version(package) for package in (*NEEDED, *EXTRAS)},
        "JAX devices": ", ".join(str(device) for device in jax.devices()),
    }


def versions() -> str:
    """:func:`environment` in lines."""
    return "\n".join(f"{name:<13} {value}" for name, value in environment().items())


def show_versions() -> None:
    """Print :func:`environment`; please paste it into bug reports."""
    print(versions())
