"""The LP of the master problem: rows, what their multipliers prove, HiGHS' models."""
