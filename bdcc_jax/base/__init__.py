"""What everything else stands on: arrays, compiled loops, exact sums, clocks, HiGHS."""
