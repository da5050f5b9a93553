from setuptools import Extension, setup

import usmpy

setup(ext_modules=[Extension("axpy", ["axpy.c"], include_dirs=[usmpy.get_include()])])
