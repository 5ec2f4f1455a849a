"""The rules by which schedules for GPUs are derived, and the plans that they make."""
