"""The instance, and what becomes of it when nodes are joined."""
