"""Subproblems in batches, on an accelerator."""
