#!/bin/sh
# Looks up every name of the card's system that docs/port.md uses in folders with public headers or
# samples: sh port/kit/check-names.sh FOLDER...
# Exits with 1 if a name is in none of them.
set -eu
if [ $# -eq 0 ]; then
    echo "usage: sh port/kit/check-names.sh FOLDER..." >&2
    exit 2
fi
page=$(dirname "$0")/../../docs/port.md
missing=0
count=0
for name in $(grep -oE '`(flexio|doca_dpa|__dpa)_[a-z0-9_]+`' "$page" | tr -d '`' | sort -u); do
    count=$((count + 1))
    if ! grep -rqwI -- "$name" "$@"; then
        echo "not found: $name"
        missing=$((missing + 1))
    fi
done
echo "$count names, $missing not found"
test "$missing" -eq 0 && test "$count" -gt 0
