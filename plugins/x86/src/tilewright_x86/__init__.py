"""x86 target for Tilewright: code generation with llvmlite and hand-written strategies."""
