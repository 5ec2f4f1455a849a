"""The choice of a config and layout for every kernel: candidates, prices, problem."""
