#!/bin/sh
# Stands for an MPI program on the provider: writes what two ranks of one wrote. With an argument it
# does what the argument says instead.
set -eu
here=$(dirname "$0")
[ "$FI_PROVIDER" = dpamatch ] && [ -e "$FI_PROVIDER_PATH/libdpamatch_fi.so" ]
# Rank 0 from the middle of a run: it waits for tag 6 and has tag 5. It has seen 9 requests.
open() {
	entry='"communicator": 0, "kind": "user", "bytes": 8, "age_ms": 2500'
	own=$(sed 's/"engine"/"closed": false, "requests": 9, "pid": '$$', &/; $d' "$here"/stats/rank-0*)
	cat <<-END
		$own,
		"waiting": { "receives": 1, "messages": 1, "sends": 0, "idle_ms": 7, "entries": [
		  { "what": "receive", "peer": "68bfde11", "tag": 6, $entry },
		  { "what": "message", "peer": "68bfde11", "tag": 5, $entry } ] } }
	END
}
case ${1:-} in
fail) cp "$here"/stats/* "$DPAMATCH_STATS" && exit 3 ;;
silent) exit 0 ;;
early) exit 7 ;;
killed) kill -9 $$ ;;
rubbish) echo "{}" > "$DPAMATCH_STATS/rank-0-1.json" && exit 0 ;;
full) echo "{" > "$DPAMATCH_STATS/rank-0-1.unfinished" && exit 0 ;;
open)
	cp "$here"/stats/rank-1* "$DPAMATCH_STATS"
	open > "$DPAMATCH_STATS/rank-0-1e7e75b9.json"
	exit 0
	;;
begun)
	case ${2:-} in
	alone) ;;
	open) open > "$DPAMATCH_STATS/rank-0-1e7e75b9.json" ;;
	*) cp "$here"/stats/rank-0* "$DPAMATCH_STATS" ;;
	esac
	cat > "$DPAMATCH_STATS/rank-1-00000001.json" <<-END
		{ "engine": "optimistic", "closed": false, "library": "unknown", "kinds": {},
		  "communicators": [], "depth": { "begin_unix_ns": 5, "column_ns": 1000000,
		  "posted": [], "unexpected": [], "messages": [] } }
	END
	exit 0
	;;
hang)
	open > "$DPAMATCH_STATS/rank-0-1e7e75b9.json"
	for rank in "$here"/stats/rank-1*; do
		sed 's/"engine"/"closed": false, "pid": '$$', &/' "$rank" \
			> "$DPAMATCH_STATS/$(basename "$rank")"
	done
	: > "$DPAMATCH_STATS/ready"
	sleep 1000
	;;
esac
echo "the program's own words"
cp "$here"/stats/* "$DPAMATCH_STATS"
[ -z "${DPAMATCH_LOG:-}" ] || cp "$here"/logs/* "$DPAMATCH_LOG"
