#!/bin/bash
# A job starts each second, first in peace, then under N requests. The runs of
# each time are left in out/.
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
# twenty FILE: the next 20 runs, as history has them.
twenty() {
	timeout 120 sh -c 'tail -n 0 -F out/ticks 2>/dev/null | head -n 21' >/dev/null
	cronring history clock -n 20 -o jsonl >"$1"
	claim "20 starts are seen" same "$(wc -l <"$1")" 20
}
await 60 "the clock job runs" test -s out/ticks || finish
before=$(main_pid)
twenty out/idle
as mallory /lab/labtool flood "$1" 24s >flooded &
twenty out/flood
wait $!
claim "requests were sent: $(cat flooded)" grep -q "^$1 requests" flooded
claim "the daemon is the one that it was" same "$(main_pid)" "$before"
finish
