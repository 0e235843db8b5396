#!/bin/sh
# Runs the programs of this folder with the recorder and looks at what was written: make check.
# Arguments: the folder that was built, and how ranks are started [mpirun -n].
set -eu
build=$(cd "$1" && pwd)
shift
launch=${*:-mpirun -n}
export DPAMATCH_RECORD_LIBRARY="$build/libdpamatch-record.so"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

fail() {
    echo "check: $*" >&2
    exit 1
}

# A program of both exchanges: what it prints, a file of sites for each rank, as many sites and calls as there are.
for program in halo halo_fortran; do
    [ -x "$build/$program" ] || continue
    $launch 2 "$build/dpamatch-record" -o "$program" -n run -p -s "$build/$program" > "$program.out"
    [ "$(tr -s ' ' < "$program.out")" = "sum 4800, expected 4800" ] || fail "$program: $(cat "$program.out")"
    for rank in 0000 0001; do
        [ -s "$program/run-$rank.bin" ] || fail "$program: no trace of rank $rank"
        calls=$(grep -c '^call ' "$program/run-$rank.sites")
        sites=$(grep -c '^site ' "$program/run-$rank.sites")
        [ "$calls" -eq 640 ] || fail "$program: $calls calls with a site"
        # Fortran writes the two places of sends twice, C once.
        [ "$sites" -eq 3 ] || [ "$sites" -eq 4 ] || fail "$program: $sites sites"
        grep -q "^object [0-9]* $build/$program\$" "$program/run-$rank.sites" || fail "$program: not named"
    done
done

# What is asked for everywhere is the same with the recorder.
$launch 2 "$build/dpamatch-record" -o example "$build/example" | grep -q '^all messages were right$' || fail example
[ ! -e example/*.sites ] || fail "sites that nobody asked for"

# A program that is not recorded is no secret; a script around one that is recorded says nothing.
"$build/dpamatch-record" -o none true 2> said
grep -q 'nothing was recorded: true started no MPI' said || fail "silent: $(cat said)"
$launch 2 "$build/dpamatch-record" -o script sh -c "$build/halo; exit 0" > out 2>&1
! grep -q 'nothing was recorded' out || fail "a script: $(cat out)"

# Wrong calls.
! "$build/dpamatch-record" 2> /dev/null || fail "no program"
! DPAMATCH_RECORD_LIBRARY=/none "$build/dpamatch-record" true 2> said || fail "no library"
grep -q '/none: no such library' said || fail "$(cat said)"
echo "check: all is well"
