#!/bin/sh
# Builds the program with the vendor's SDK, for a BlueField-3. CARD: folder of libdpamatch_kit.a,
# built by `RUSTFLAGS="--cfg dpamatch_card" cargo build --release --target
# riscv64imac-unknown-none-elf` in port/kit. HOST: folder of the host's libdpamatch_kit.a, built by
# `cargo build --release` there.
set -eu
: "${CARD:?the folder of the card's libdpamatch_kit.a}" "${HOST:?the folder of the host's libdpamatch_kit.a}"
cd "$(dirname -- "$0")"
dpacc device.c -o matching.a -mcpu=nv-dpa-bf3 -hostcc=cc --app-name=matching \
    --devicecc-options="-O2,-ffreestanding" -device-libs="-L$CARD,-ldpamatch_kit"
cc -O2 host.c matching.a -L"$HOST" -ldpamatch_kit $(pkg-config --cflags --libs libflexio libibverbs libmlx5) \
    -o matching
