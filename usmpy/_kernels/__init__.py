"""Kernel helpers for users: ElementwiseKernel, ReductionKernel and ScanKernel over portable programs."""
