"""The graph tuners that come with tilewright-graph, and what they share."""
