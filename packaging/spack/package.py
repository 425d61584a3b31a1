"""voltmill for Spack 1.0 and later; how to use it from the tree: docs/install.md."""

import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Voltmill(MakefilePackage):
    """Archived radio-telescope voltages to spectra, power and bursts, under MPI, on CPUs and OpenCL devices."""

    # No `git` or `url`: `spack dev-build` takes the tree in which it is called. Where a copy is to be fetched, say here
    # from where.
    license("GPL-3.0-or-later")

    version("main")
    version("1.0.0")

    variant("opencl", default=False, description="The OpenCL backend; wants vkFFT.h, which Spack has no package of, in CPATH")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("hdf5@1.10: +mpi +hl")
    depends_on("fftw@3.3: precision=float,double")
    depends_on("erfa")
    depends_on("libyaml")
    depends_on("zlib-api")
    depends_on("libdeflate")
    depends_on("lz4")
    depends_on("zstd")
    depends_on("liblzf")
    depends_on("cfitsio")

    depends_on("ocl-icd", when="+opencl")
    depends_on("clfft", when="+opencl")

    conflicts("platform=darwin", msg="voltmill needs Linux: fallocate, renameat2, flock")

    def pkg_config_modules(self):
        """What the Makefile asks pkg-config for; MPI comes by its compiler."""
        names = ["hdf5", "yaml-0.1", "zlib", "libdeflate", "liblz4", "libzstd", "liblzf", "cfitsio", "fftw3", "fftw3f", "erfa"]
        return names + (["OpenCL"] if self.spec.satisfies("+opencl") else [])

    def edit(self, spec, prefix):
        # liblzf of its authors has no file for pkg-config.
        lzf = spec["liblzf"].prefix
        mkdirp("spack-pkgconfig")
        with open(join_path("spack-pkgconfig", "liblzf.pc"), "w", encoding="utf-8") as file:
            file.write(f"Name: liblzf\nDescription: LZF\nVersion: {spec['liblzf'].version}\n")
            file.write(f"Cflags: -I{lzf.include}\nLibs: -L{lzf.lib} -llzf\n")

    def setup_build_environment(self, env):
        env.prepend_path("PKG_CONFIG_PATH", os.path.join(self.stage.source_path, "spack-pkgconfig"))

    @property
    def build_targets(self):
        return [
            f"CC={self.spec['mpi'].mpicc}",
            f"PREFIX={self.prefix}",
            f"OPENCL={1 if self.spec.satisfies('+opencl') else 0}",
            "MPI_MODULE=",
            "HDF5_MODULE=hdf5",
            "MODULES=" + " ".join(self.pkg_config_modules()),
            "MISSING=",
            "all",
        ]

    @property
    def install_targets(self):
        return self.build_targets[:-1] + ["install"]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.voltmill)("--version")
