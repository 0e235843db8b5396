# Copyright: the dpamatch authors. SPDX-License-Identifier: MIT OR Apache-2.0
"""A recipe for Spack. It has no address of its own: it builds a clone of the repository.

    spack repo create here && mkdir -p here/packages/dpamatch
    cp tools/packaging/spack/package.py here/packages/dpamatch/ && spack repo add here
    spack dev-build --source-path $PWD dpamatch@main
"""

import glob

from spack.package import *


class Dpamatch(Package):
    """An emulator of a SmartNIC data-path accelerator that does MPI message matching."""

    license("MIT OR Apache-2.0")

    version("main")

    variant("recorder", default=False, description="Build the recorder for an MPI library")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("git", type="build")
    depends_on("libfabric@1.17:", type="run")
    depends_on("mpi", when="+recorder")

    def install(self, spec, prefix):
        which("cargo")("xtask", "dist")
        archive = glob.glob("target/dist/dpamatch-*.tar.gz")[0]
        mkdirp("staged")
        which("tar")("-xzf", archive, "-C", "staged", "--strip-components", "1")
        which("sh")("staged/install.sh", prefix)
        if spec.satisfies("+recorder"):
            make(
                "-C",
                join_path(prefix.share, "dpamatch", "recorder"),
                "install",
                f"MPICC={spec['mpi'].mpicc}",
                f"PREFIX={prefix}",
            )

    def setup_run_environment(self, env):
        # libibverbs.so and libmlx5.so of the emulator stay out of every search path.
        env.prepend_path("FI_PROVIDER_PATH", join_path(self.prefix.lib, "libfabric"))
