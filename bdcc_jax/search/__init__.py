"""The way to the optimum: bounds, Algorithm 1, branch and bound, smaller instances."""
