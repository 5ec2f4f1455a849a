"""What is compiled and run: architecture, launches, machine code, artefact."""
