#!/bin/bash
# A job starts each second, first in peace, then under N requests, ROUNDS times.
# The runs of each time are left in out/.
. /lab/lib.sh
await 20 "the daemon is ready" systemctl is-active cronring || finish
# twenty FILE: the next 20 runs, as history has them.
twenty() {
	timeout 60 sh -c 'tail -n 0 -F out/ticks 2>/dev/null | head -n 21' >/dev/null
	cronring history clock -n 20 -o jsonl >"$1"
	claim "20 starts are seen" same "$(wc -l <"$1")" 20
}
await 10 "the clock job runs" test -s out/ticks || finish
for round in $(seq "$2"); do
	twenty "out/idle.$round"
	as mallory /lab/labtool flood "$1" 24s >flooded &
	twenty "out/flood.$round"
	wait $!
	claim "requests were sent: $(cat flooded)" grep -q "^$1 requests" flooded
done
finish
