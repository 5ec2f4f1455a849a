"""Which points of a space keep its constraints: counted and numbered without listing them."""
