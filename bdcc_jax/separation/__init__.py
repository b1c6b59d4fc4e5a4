"""Who finds the rows that a solution of the master violates."""
