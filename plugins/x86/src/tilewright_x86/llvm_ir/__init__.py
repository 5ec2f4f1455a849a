"""LLVM IR as text: values, addresses, memory, registers; nothing of it needs x86."""
