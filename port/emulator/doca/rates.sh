#!/bin/sh
# Prints the processor time of a message of a ping-pong between two threads, and of a kernel of 16
# threads: unchecked, and with every access checked. The least of ROUNDS rounds, on one host thread.
#   rates.sh [MESSAGES [ROUNDS [PREFIX]]]      PREFIX is an installed emulator, else one is made
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
messages=${1:-200000} rounds=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
if [ $# -ge 3 ]; then
    for part in bin lib include; do ln -s "$(CDPATH= cd -- "$3" && pwd)/$part" "$work/$part"; done
else
    "$here/install.sh" "$work"
fi
for check in 0 1; do
    DPACC_CHECK=$check "$here/build.sh" "$work" doca "$here/tests/doca"
    mv "$work/doca" "$work/doca$check"
done
# Lines of `what time` become the least time of each.
least() { awk '{ if (!($1 in least) || $2 < least[$1]) least[$1] = $2 }
    END { for (what in least) print what, least[what] }'; }
for check in 0 1; do
    for round in $(seq "$rounds"); do
        "$work/doca$check" --scene ping_pong --number $((messages / 2)) 2>&1 > /dev/null |
            awk '/a message:/ { print "message", $3 / 1000 }'
        "$work/doca$check" --scene kernels --number $((messages / 200)) 2>&1 > /dev/null |
            awk '/a kernel of/ { print "waits", $6; print "chain", $8 }'
    done | least | sed "s/^/$check /"
done | awk '{ us[$1, $2] = $3 } END {
    printf "%-46s %9s %9s\n", "us of processor time", "unchecked", "checked"
    printf "%-46s %9.3f %9.3f\n", "a message of a ping-pong", us[0, "message"], us[1, "message"]
    printf "%-46s %9.2f %9.2f\n", "a kernel that begins when another ends", us[0, "chain"],
        us[1, "chain"]
    printf "%-46s %9.2f %9.2f\n", "a kernel for which the host waits", us[0, "waits"], us[1, "waits"] }'
