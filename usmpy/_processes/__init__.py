"""Arrays and devices in other processes: children, handles, pickles."""
