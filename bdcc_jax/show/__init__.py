"""What is shown while a solve runs, and of its result."""
