#!/bin/sh
# Prints the messages inside collective operations that an MPI library sent, as the files in
# tools/src/collectives/measured hold them: one line for each call of collectives.c, with processes,
# operation, elements, root, and "sender*bytes*times" for each receiver. The order logs come from
#
#     DPAMATCH_ENGINE=list DPAMATCH_LOG=logs mpiexec -n 5 ./collectives 1 20 3000 > calls
#     collectives.sh logs calls
#
# with the environment that docs/mpi.md describes.
set -eu
[ $# = 2 ] || { echo "usage: collectives.sh LOGS CALLS" >&2; exit 2; }
logs=$(ls "$1"/rank-*.events)
# shellcheck disable=SC2086 # names of logs have no spaces
awk '
# The name of a log holds the rank and the identity that messages carry.
FNR == 1 { name = FILENAME; sub(/.*rank-/, "", name); split(name, parts, /[-.]/); rank = parts[1] + 0 }
pass == 1 && FNR == 1 { of[parts[2]] = rank; if (rank >= size) size = rank + 1 }
pass == 1 && $2 == "communicator" { kind[FILENAME, $3 + 0] = $7; number[FILENAME, $3 + 0] = $8 }
pass == 1 && $2 == "peer" { peer[FILENAME, $3 + 0] = $4 }
pass == 2 && /^arrive/ {
    split($0, field, /[,=]/)
    comm = number[FILENAME, field[3]]
    # The ring of messages before each call names the communicator.
    if (kind[FILENAME, field[3]] == "user") call_of[comm] = field[5]
    else if (kind[FILENAME, field[3]] == "collective")
        times[comm, rank, of[peer[FILENAME, field[4]]], field[7]]++
}
pass == 3 { calls[++count] = $2 " " $3 " " $4; if ($2 == "nothing") nothing = $1 }
END {
    for (comm in call_of) comm_of[call_of[comm]] = comm
    for (key in times) {
        split(key, part, SUBSEP)
        if (!(part[1] in call_of)) continue
        # A new communicator has messages of its own.
        left = times[key] - (part[1] == comm_of[nothing] ? times[key] : \
            times[comm_of[nothing], part[2], part[3], part[4]])
        if (left > 0) printf "%d %d %d %d %d\n", call_of[part[1]], part[2], part[3], part[4], left
    }
    for (call = 1; call <= count; call++) printf "%d -1 0 0 %d %s\n", call, size, calls[call]
}' pass=1 $logs pass=2 $logs pass=3 "$2" | sort -n -k1 -k2 -k3 -k4 | awk '
$2 == -1 { if (line != "") print line; line = $6 == "nothing" ? "" : $5 " " $6 " " $7 " " $8 " "; last = -1; next }
{
    if ($2 != last) line = line (last < 0 ? "" : " ") $2 ":"; else line = line ","
    line = line $3 "*" $4 ($5 > 1 ? "*" $5 : "")
    last = $2
}
END { print line }'
