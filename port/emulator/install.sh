#!/bin/sh
# Installs the emulator as programs look for it: dpacc, headers, library, pkg-config files.
#   install.sh PREFIX       with CARGO_PROFILE=dev a build with checks of the emulator itself
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
[ $# = 1 ] || { echo "usage: install.sh PREFIX" >&2; exit 2; }
mkdir -p "$1"
prefix=$(CDPATH= cd -- "$1" && pwd)
case $prefix in
    /usr | /usr/local) echo "install.sh: $prefix/lib shadows the system's libibverbs and libmlx5" >&2 ;;
    *" "*) echo "install.sh: options of pkg-config have no spaces; name $prefix by hand" >&2 ;;
esac
profile=${CARGO_PROFILE:-release}
case $profile in dev) built=debug ;; *) built=$profile ;; esac
target=${CARGO_TARGET_DIR:-$here/target}
if [ -z "${DPA_EMULATOR_LIBRARY:-}" ]; then
    (cd "$here" && "${CARGO:-cargo}" build --quiet --lib -p dpamatch_emulator --profile "$profile" \
        --target-dir "$target")
    DPA_EMULATOR_LIBRARY=$target/$built/libdpamatch_emulator.so
fi
mkdir -p "$prefix/bin" "$prefix/lib/pkgconfig" "$prefix/include"
cp -R "$here/include/." "$prefix/include/"
cp "$here/dpacc" "$prefix/bin/dpacc"
rm -f "$prefix/lib/libdpamatch_emulator.so"
cp "$DPA_EMULATOR_LIBRARY" "$prefix/lib/libdpamatch_emulator.so"
for name in flexio ibverbs mlx5; do
    ln -sf libdpamatch_emulator.so "$prefix/lib/lib$name.so"
    cat > "$prefix/lib/pkgconfig/lib$name.pc" <<END
prefix=$prefix
Name: lib$name
Description: lib$name of dpamatch's DPA emulator
Version: 25.1.0
Cflags: -I$prefix/include -idirafter $prefix/include/fallback
Libs: -L$prefix/lib -Wl,-rpath,$prefix/lib -l$name
END
done
