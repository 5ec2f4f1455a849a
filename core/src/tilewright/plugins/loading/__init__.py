"""From entry points and files to plugins, and which distribution brings what is missing."""
