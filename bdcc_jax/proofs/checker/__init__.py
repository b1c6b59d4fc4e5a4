"""The checker of certificates: standard library only, and nothing of the solver."""
