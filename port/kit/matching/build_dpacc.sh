#!/bin/sh
# Builds the program with the vendor's SDK, for a BlueField-3. CARD: folder of libdpamatch_card.a,
# built by `RUSTFLAGS="--cfg dpamatch_card" cargo build --release --target
# riscv64imac-unknown-none-elf` in port/kit/card.
set -eu
: "${CARD:?the folder of libdpamatch_card.a}"
cd "$(dirname -- "$0")"
dpacc device.c -o matching.a -mcpu=nv-dpa-bf3 -hostcc=cc --app-name=matching \
    --devicecc-options="-O2,-ffreestanding" -device-libs="-L$CARD,-ldpamatch_card"
cc -O2 host.c player.c matching.a $(pkg-config --cflags --libs libflexio libibverbs libmlx5) \
    -o matching
