#!/bin/sh
# Runs programs of Debian's own packages with Debian's Open MPI, in a Debian system that it makes in
# a folder: over the library's shared memory, and over the provider. Prints whether the answers are
# equal, how many order logs equal the oracle, and both times. Needs root and debootstrap; for
# x86-64.
#
#     cargo build --release -p dpamatch_provider -p dpamatch_tools
#     mpi/provider/mpi/debian.sh /var/tmp/debian [PROCESSES [PROGRAM]...]
set -eu
if [ "${DEBIAN_INSIDE-}" != 1 ]; then
	folder=$1
	here=$(cd "$(dirname "$0")" && pwd)
	if [ ! -e "$folder/installed" ]; then
		debootstrap --variant=minbase bookworm "$folder" http://deb.debian.org/debian
		chroot "$folder" apt-get install --yes --no-install-recommends openmpi-bin libfabric1 \
			lammps lammps-examples gromacs gromacs-data quantum-espresso quantum-espresso-data \
			hpcc scalapack-mpi-test
		touch "$folder/installed"
	fi
	mkdir -p "$folder/dpamatch" "$folder/work"
	cp "$here"/../../../target/release/dpamatch "$here"/../../../target/release/libdpamatch_fi.so \
		"$here/debian.sh" "$folder/dpamatch"
	shift
	exec unshare --mount --fork --pid --kill-child sh -c 'folder=$1; shift
		mount --rbind /dev "$folder/dev" && mount -t proc proc "$folder/proc" &&
		exec env DEBIAN_INSIDE=1 PATH=/usr/sbin:/usr/bin chroot "$folder" \
			sh /dpamatch/debian.sh "$@"' sh "$folder" "$@"
fi

processes=${1:-4}
[ $# = 0 ] || shift
export HOME=/root LC_ALL=C OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd /work

lammps_command='lmp -in /usr/share/lammps/examples/melt/in.melt'
lammps() { sed -n '/^ *Step/,/^Loop/{/^Loop/!p}' out; }

gromacs_input() {
	printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\nwater\n' \
		> water.top
	printf '[ molecules ]\n' >> water.top
	printf 'nsteps = 500\ndt = 0.001\nnstenergy = 50\nnstlog = 50\ncoulombtype = PME\nrcoulomb = 0.9
rvdw = 0.9\ngen-vel = yes\ngen-seed = 7\n' > water.mdp
	gmx solvate -cs spc216.gro -box 3 3 3 -o water.gro -p water.top
	gmx grompp -f water.mdp -c water.gro -p water.top -o water.tpr
}
gromacs_command='gmx_mpi mdrun -s water.tpr -reprod -dlb no -g run.log -nb cpu'
gromacs() { sed -n '/Energies/,/^$/p' run.log; }

qe_input() {
	cat > si.in <<-END
		&control pseudo_dir = '/usr/share/espresso/pseudo' /
		&system ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 18 /
		&electrons /
		ATOMIC_SPECIES
		Si 28.086 Si.pz-vbc.UPF
		ATOMIC_POSITIONS alat
		Si 0 0 0
		Si 0.25 0.25 0.25
		K_POINTS automatic
		4 4 4 1 1 1
	END
}
qe_command='pw.x -in si.in'
qe() { grep '^!' out; }

hpcc_input() { sed 's/^2 *Ps/1 Ps/; s/^2 *Qs/'"$processes"' Qs/' \
	/usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt; rm -f hpccoutf.txt; }
hpcc_command=hpcc
hpcc() { grep -c PASSED hpccoutf.txt; grep -e FAILED -e '^Success' hpccoutf.txt; rm hpccoutf.txt; }

scalapack_input() { cp /usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/LU.dat .; }
scalapack_command=/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu
scalapack() { awk '{ for (i = 1; i <= NF; i++) if (i < 9 || i > 11) printf "%s ", $i; print "" }' \
	out | grep -e '^WALL' -e tests; }

# Runs the program; its time goes to the file `seconds`, its answer to the file of this name.
timed() {
	answer=$1
	shift
	begin=$(date +%s%N)
	"$@" > out 2> errors || { cat out errors; return 1; }
	echo $((($(date +%s%N) - begin) / 1000000)) > "$answer.ms"
	"$program" > "$answer"
}

for program in ${*:-lammps gromacs qe hpcc scalapack}; do
	mkdir -p "$program"
	cd "$program"
	! command -v "${program}_input" > /dev/null || "${program}_input" > input.out 2>&1
	eval "command=\$${program}_command"
	launch="mpiexec --oversubscribe -n $processes $command"
	timed stock $launch
	timed nic /dpamatch/dpamatch run -- $launch
	timed logged /dpamatch/dpamatch run --log --out report -- $launch
	same=different
	[ -s stock ] && cmp -s stock nic && cmp -s stock logged && same=same
	logs=0 equal=0
	for log in report/logs/*.events; do
		logs=$((logs + 1))
		/dpamatch/dpamatch match --engine oracle "$log" > replayed
		! diff --ignore-blank-lines replayed "${log%.events}.results" > /dev/null || equal=$((equal + 1))
	done
	echo "$program, $processes processes: $same answer ($(wc -l < stock) lines); $equal of $logs" \
		"logs equal the oracle; $(cat stock.ms) ms, with dpamatch $(cat nic.ms) ms"
	cd ..
done
