"""Who may talk to whom: certificates, or this machine alone."""
