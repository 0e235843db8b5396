#!/bin/sh
# Installs the emulator as programs look for it: dpacc, headers, library, pkg-config files.
#   install.sh PREFIX       with CARGO_PROFILE=dev a build with checks of the emulator itself
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
[ $# = 1 ] || { echo "usage: install.sh PREFIX" >&2; exit 2; }
mkdir -p "$1"
prefix=$(CDPATH= cd -- "$1" && pwd)
case $prefix in
    / | /usr | /usr/local)
        echo "install.sh: $prefix/lib would come before the system's libibverbs and libmlx5;" \
            "use $prefix/lib/dpamatch-emulator" >&2
        exit 2 ;;
    *" "*) echo "install.sh: options of pkg-config have no spaces; name $prefix by hand" >&2 ;;
esac
profile=${CARGO_PROFILE:-release}
case $profile in dev) built=debug ;; *) built=$profile ;; esac
target=${CARGO_TARGET_DIR:-$here/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
if [ -z "${DPA_EMULATOR_LIBRARY:-}" ]; then
    (cd "$here" && "${CARGO:-cargo}" build --quiet --lib -p dpamatch_emulator --profile "$profile" \
        --target-dir "$target")
    DPA_EMULATOR_LIBRARY=$target/$built/libdpamatch_emulator.so
fi
mkdir -p "$prefix/bin" "$prefix/lib/pkgconfig" "$prefix/include"
cp -R "$here/include/." "$prefix/include/"
cp "$here/dpacc" "$here/dpa-app-attributes2blob" "$prefix/bin/"
rm -f "$prefix/lib/libdpamatch_emulator.so"
cp "$DPA_EMULATOR_LIBRARY" "$prefix/lib/libdpamatch_emulator.so"
for file in libflexio libibverbs libmlx5 doca-common doca-dpa doca-rdma doca-argp doca-verbs doca-flow; do
    case $file in doca-*) name=doca_${file#doca-} version=3.3.0 ;; *) name=${file#lib} version=25.1.0 ;; esac
    ln -sf libdpamatch_emulator.so "$prefix/lib/lib$name.so"
    cat > "$prefix/lib/pkgconfig/$file.pc" <<END
prefix=$prefix
includedir=$prefix/include
libdir=$prefix/lib
Name: $file
Description: $file of dpamatch's DPA emulator
Version: $version
Cflags: -I$prefix/include -idirafter $prefix/include/fallback
Libs: -L$prefix/lib -Wl,-rpath,$prefix/lib -l$name
END
done
