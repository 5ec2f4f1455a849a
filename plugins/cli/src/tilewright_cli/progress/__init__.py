"""What a run tells while it goes on: on a terminal, in plain lines, in a file of events."""
