"""Build of the one native extension. URLSIEVE_SANITIZE=1 compiles it with AddressSanitizer and UBSan."""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNEL = "src/urlsieve/_kernel"
flags = ["-std=c11", "-O3", "-g0", "-Wall", "-Wextra", "-Wno-unused-function", "-fvisibility=hidden"]
link: list[str] = []
if os.environ.get("URLSIEVE_SANITIZE"):
    flags += ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
    link += ["-fsanitize=address,undefined"]

setup(
    ext_modules=cythonize(
        [
            Extension(
                "urlsieve._kernel._core",
                sources=[f"{KERNEL}/_core.pyx", *sorted(glob(f"{KERNEL}/*.c"))],
                depends=sorted([*glob(f"{KERNEL}/*.h"), *glob(f"{KERNEL}/*.px[di]")]),
                extra_compile_args=flags,
                extra_link_args=link,
                include_dirs=[KERNEL],
            )
        ],
        build_dir="build/cython",
        compiler_directives={"language_level": "3"},
    )
)
