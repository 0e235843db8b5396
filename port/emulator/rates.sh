#!/bin/sh
# Prints nanoseconds for each frame that the example `rates` answers: as a handler, and by hand in a
# loop of the same device part. The least of ROUNDS rounds in turn, on one host thread.
#   rates.sh [FRAMES [ROUNDS]]
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
"$here/install.sh" "$work"
# A file with one frame of 65 bytes.
zeros() { head -c "$1" /dev/zero; }
{
    printf '\324\303\262\241\2\0\4\0'; zeros 8; printf '\0\100\0\0\1\0\0\0'
    zeros 8; printf '\101\0\0\0\101\0\0\0'; zeros 65
} > "$work/frame"
for check in 0 1; do
    DPACC_CHECK=$check "$here/build.sh" "$work" rates "$here/examples/rates"
    mv "$work/rates" "$work/rates$check"
done
run() {
    DPA_WIRE="pcap:in=$work/frame,repeat=1,burst=$2" "$work/rates$3" "$frames" "$2" "$rounds" |
        awk -v what="$1" '{ printf "%-30s %8.1f %8.1f %6.2f %10.2f\n", what, $1, $2, $2 / $1,
            1000 / $1 }'
}
frames=${1:-1000000} rounds=${2:-20}
printf '%-30s %8s %8s %6s %10s\n' "ns a frame" handler "by hand" ratio "M frames/s"
run "an activation for 16 frames" 16 0
run "an activation for each frame" 1 0
run "16, with every access checked" 16 1
