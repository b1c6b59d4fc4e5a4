"""Methods of others, written by us as well as we can, to compare with."""
