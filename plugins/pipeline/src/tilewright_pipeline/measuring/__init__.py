"""Building, running and storing candidates: the part of tuning that touches the device."""
