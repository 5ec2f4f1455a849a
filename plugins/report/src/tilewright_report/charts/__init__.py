"""Charts as static SVG or HTML, coloured by the styles of the page."""
