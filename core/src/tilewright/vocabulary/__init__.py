"""The nouns: targets, devices, workloads, tasks, configs, measurements, records."""
