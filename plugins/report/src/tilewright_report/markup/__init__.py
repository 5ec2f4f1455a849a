"""Elements of HTML and SVG, and the document around them."""
