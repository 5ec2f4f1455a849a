"""ONNX Runtime as oracle and peer."""
