"""AutoTVM's logs and TopHub packages, as records."""
