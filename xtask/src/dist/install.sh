#!/bin/sh
# Installs dpamatch: install.sh PREFIX, for example ~/.local or /opt/dpamatch.
# Afterwards PREFIX/bin holds the commands, and `dpamatch run` finds the provider in PREFIX/lib/libfabric.
set -eu
fail() { echo "install.sh: $*" >&2; exit 2; }
[ $# = 1 ] && [ -n "$1" ] || fail "usage: install.sh PREFIX"
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
mkdir -p "$1"
prefix=$(CDPATH= cd -- "$1" && pwd -P)
case $prefix in
    / | /usr | /usr/local)
        # lib/libfabric of these prefixes is where libfabric looks by default.
        fail "$prefix: libfabric would load the provider into every program; use /opt/dpamatch" ;;
    *[\ \|\&\\]*) fail "$prefix: a prefix cannot have spaces, |, & or \\" ;;
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
