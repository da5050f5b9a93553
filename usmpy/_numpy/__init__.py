"""NumPy's protocols: conversions, and functions of NumPy that take arrays of usmpy."""
