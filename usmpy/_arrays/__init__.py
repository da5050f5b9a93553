"""Functions of arrays that are written in Python, and what arrays tell other libraries."""
