"""Build of the one extension module, for the stable ABI of CPython 3.11 and later."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

# `make test-long` builds it with address and undefined-behaviour sanitizers.
FLAGS = os.environ.get("TRIO_KAFKA_LEAF_CFLAGS", "-O3").split()

setup(
    ext_modules=cythonize(
        Extension(
            "trio_kafka_leaf.records",
            ["src/trio_kafka_leaf/records.pyx"],
            define_macros=[("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")],
            extra_compile_args=FLAGS,
            extra_link_args=[flag for flag in FLAGS if flag.startswith("-fsanitize")],
            py_limited_api=True,
        ),
        build_dir="build",
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
