"""Config spaces: sums of products of knobs under constraints."""
