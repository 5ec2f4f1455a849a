"""Worker processes: started, confined, watched, ended."""
