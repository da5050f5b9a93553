from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

import usmpy

sources, folders = ["statistics.cpp"], [usmpy.get_include()]
setup(ext_modules=[Pybind11Extension("statistics_of_arrays", sources, include_dirs=folders, cxx_std=17)])
