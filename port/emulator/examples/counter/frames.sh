#!/bin/sh
# Writes a file of Ethernet frames to standard output, in the classic pcap format.
#   sh frames.sh COUNT > frames.pcap
# Frame number N, from 0, has 60 + N % 90 bytes. Its first eight digits after the addresses are N.
set -eu
# A number of 32 bits, as little-endian escapes.
word() { printf '\\%03o\\%03o\\%03o\\%03o' $(($1 % 256)) $(($1 / 256 % 256)) $(($1 / 65536 % 256)) $(($1 / 16777216)); }
zeros=$(printf '%0136d' 0)
printf '\324\303\262\241\2\0\4\0\0\0\0\0\0\0\0\0\0\100\0\0\1\0\0\0'
number=0
while [ "$number" -lt "$1" ]; do
    bytes=$((60 + number % 90))
    printf "\\0\\0\\0\\0\\0\\0\\0\\0$(word $bytes)$(word $bytes)"
    # To 02:00:00:00:00:01, from 02:00:00:00:00:02, of a type for experiments.
    printf '\2\0\0\0\0\1\2\0\0\0\0\2\210\265%08d%.*s' "$number" $((bytes - 22)) "$zeros"
    number=$((number + 1))
done
