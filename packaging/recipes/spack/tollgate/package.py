# SPDX-License-Identifier: MIT OR Apache-2.0

from spack.package import *
from spack_repo.builtin.build_systems.cargo import CargoPackage


class Tollgate(CargoPackage):
    """Promises deadlines of jobs on shared clusters, and keeps the promises: a scheduler, and replays of records."""

    homepage = "https://example.org/tollgate"
    url = "https://example.org/tollgate/tollgate-0.1.0.tar.gz"

    license("MIT OR Apache-2.0", checked_by="tollgate")

    version("0.1.0", sha256="0" * 64)

    variant("parquet", default=False, description="Read and write job tables as Parquet")

    depends_on("c", type="build")
    depends_on("rust@1.95:", type="build")

    build_directory = "crates/cli"

    @property
    def build_args(self):
        return ["--locked"] + (["--features", "parquet"] if self.spec.satisfies("+parquet") else [])
