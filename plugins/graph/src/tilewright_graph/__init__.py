"""Networks for Tilewright: IR, passes, task extraction, graph tuners, compiled networks."""
