#!/bin/sh
# Builds a program of a device part and a host part against an installed emulator.
#   build.sh PREFIX NAME FOLDER [LIBRARY]...     makes PREFIX/NAME of FOLDER/device.c and FOLDER/host.c
# DEVICE_LIBS are dpacc's -device-libs, ATTRIBUTES a blob of attributes. Libraries are the host's.
set -eu
prefix=$1 name=$2 folder=$3
shift 3
"$prefix/bin/dpacc" "$folder/device.c" -o "$prefix/$name.a" --app-name="$name" -hostcc=cc \
    -mcpu=nv-dpa-bf3 --devicecc-options=-Wall,-Wextra,-Werror ${DEVICE_LIBS:+-device-libs=$DEVICE_LIBS} \
    ${ATTRIBUTES:+"--dpa-proc-attr=$ATTRIBUTES"}
# The emulator's own part of verbs, on machines with rdma-core's headers, too.
"${CC:-cc}" -O2 -Wall -Wextra -Werror "$folder/host.c" "$prefix/$name.a" "$@" -I "$prefix/include" \
    -I "$prefix/include/fallback" -L "$prefix/lib" "-Wl,-rpath,$prefix/lib" \
    -lflexio -libverbs -lmlx5 -o "$prefix/$name"
