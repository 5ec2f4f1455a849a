"""Instruction sets: which there are, and what this machine has of them; memory for machine code."""
