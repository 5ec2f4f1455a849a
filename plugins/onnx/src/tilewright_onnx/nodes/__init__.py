"""ONNX operators: what each node becomes."""
