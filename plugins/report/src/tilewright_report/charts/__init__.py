"""Charts as static SVG, coloured by the styles of the page."""
