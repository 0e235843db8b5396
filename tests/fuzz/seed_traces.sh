#!/bin/sh
# Fills the corpora of the targets trace_binary and trace_text from tests/data/traces: the small files, since a
# large one is slow to run and hard to change.
set -eu
cd "$(dirname "$0")/../.."
data=tests/data/traces
binary=tests/fuzz/corpus/trace_binary
text=tests/fuzz/corpus/trace_text
mkdir -p "$binary" "$text"
for library in openmpi mpich; do
    for rank in 0000 0001 0002 0003; do
        tar -xJOf "$data/edge-4-$library/edge-4-$library.dumpi.tar.xz" --wildcards "*-$rank.bin" \
            > "$binary/edge-$library-$rank"
    done
    for rank in 0000 0001; do
        xz -dc "$data/edge-4-$library/rank-$rank.txt.xz" > "$text/edge-$library-$rank"
    done
done
cp "$data"/old-versions/*.bin "$binary"
for packed in "$data"/old-versions/*.bin.xz; do
    xz -dc "$packed" > "$binary/$(basename "$packed" .bin.xz)"
done
xz -dc "$data"/old-versions/testtrace-1.0.0-0000.txt.xz > "$text/testtrace"
xz -dc "$data"/truncated/hpcg-0001.bin.xz | head -c 6000 > "$binary/truncated"
