#!/bin/sh
# Installs dpamatch: install.sh PREFIX, for example ~/.local or /opt/dpamatch.
# Afterwards PREFIX/bin holds the commands, and `dpamatch run` finds the provider in PREFIX/lib/libfabric.
set -eu
fail() { echo "install.sh: $*" >&2; exit 2; }
[ $# = 1 ] || fail "usage: install.sh PREFIX"
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
case $1 in
    /usr | /usr/ | /usr/local | /usr/local/)
        # The emulator's libibverbs.so and libmlx5.so must not come before the real ones.
        fail "$1 is searched by default; choose another prefix, below which lib/dpamatch-emulator is not" ;;
esac
mkdir -p "$1"
prefix=$(CDPATH= cd -- "$1" && pwd)
case $prefix in
    *" "*) fail "$prefix: the options of pkg-config cannot have spaces" ;;
esac
for part in bin lib include share; do
    mkdir -p "$prefix/$part"
    cp -R "$here/$part/." "$prefix/$part/"
done
find "$prefix/lib/pkgconfig" "$prefix/lib/dpamatch-emulator/lib/pkgconfig" -name '*.pc' | while read -r file; do
    sed "s|@PREFIX@|$prefix|g" "$file" > "$file.new" && mv "$file.new" "$file"
done
cat <<END
dpamatch is in $prefix/bin.
An MPI program on the emulated NIC:   $prefix/bin/dpamatch run -- mpiexec -n 4 ./app
Recorder, for each MPI library:       make -C $prefix/share/dpamatch/recorder install MPICC=mpicc PREFIX=$prefix
FlexIO emulator:                      export PATH=$prefix/lib/dpamatch-emulator/bin:\$PATH
                                      export PKG_CONFIG_PATH=$prefix/lib/dpamatch-emulator/lib/pkgconfig
END
