"""Changes to loop programs that strategies ask for."""
