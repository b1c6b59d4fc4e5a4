"""The subproblems of the paper, one root after another, on the CPU."""
