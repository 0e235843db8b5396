#!/bin/sh
# Builds libdpamatch and installs it with its header and pkg-config file: mpi/capi/install.sh PREFIX
# CARGO_PROFILE: the profile to build with, by default release.
set -eu
[ $# = 1 ] || { echo "usage: $0 PREFIX" >&2; exit 2; }
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
profile=${CARGO_PROFILE:-release}
case $profile in dev) folder=debug ;; *) folder=$profile ;; esac
cd "$here"
target=${CARGO_TARGET_DIR:-$here/../../target}
"${CARGO:-cargo}" build --quiet --profile "$profile" --package dpamatch_capi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../../Cargo.toml | head -n 1)
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
abi=$(sed -n 's/^#define DPAMATCH_ABI_VERSION //p' include/dpamatch.h)
cp "$target/$folder/libdpamatch_c.so" "$prefix/lib/libdpamatch.so.$abi"
ln -sf "libdpamatch.so.$abi" "$prefix/lib/libdpamatch.so"
cp "$target/$folder/libdpamatch_c.a" "$prefix/lib/libdpamatch.a"
cp include/*.h "$prefix/include/"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" dpamatch.pc.in \
	> "$prefix/lib/pkgconfig/dpamatch.pc"
