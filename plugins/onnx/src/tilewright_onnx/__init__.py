"""ONNX reader for Tilewright, and ONNX Runtime as oracle and peer."""
