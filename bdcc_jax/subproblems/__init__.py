"""The Benders subproblems: detection, solvers, rows."""
