"""The logs of TVM's tuners as records, and what their configs mean here."""
