#!/bin/sh
# Builds the program with the vendor's SDK, for a BlueField-3. CARD: folder of libdpamatch_card.a,
# built by `RUSTFLAGS="--cfg dpamatch_card" cargo build --release --target
# riscv64imac-unknown-none-elf` in port/kit/card. HOST: folder of libdpamatch_host.a, built by
# `cargo build --release` in port/kit/host.
set -eu
: "${CARD:?the folder of libdpamatch_card.a}" "${HOST:?the folder of libdpamatch_host.a}"
cd "$(dirname -- "$0")"
dpacc device.c -o matching.a -mcpu=nv-dpa-bf3 -hostcc=cc --app-name=matching \
    --devicecc-options="-O2,-ffreestanding" -device-libs="-L$CARD,-ldpamatch_card"
cc -O2 host.c matching.a -L"$HOST" -ldpamatch_host $(pkg-config --cflags --libs libflexio libibverbs libmlx5) \
    -o matching
