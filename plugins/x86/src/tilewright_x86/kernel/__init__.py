"""From text to a kernel that runs: compiled, linked, loaded, called."""
