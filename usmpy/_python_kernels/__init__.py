"""Python functions as kernels: from their syntax trees to programs in the portable language."""
