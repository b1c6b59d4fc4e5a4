"""Whether everything works here: kernels, their model, and a check-up of this machine."""
