"""From a loop program to the text of an LLVM module."""
