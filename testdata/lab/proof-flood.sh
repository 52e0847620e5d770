#!/bin/bash
# The start of a job each second, first in peace, then under N requests.
. /lab/lib.sh
await 20 "the daemon is ready" systemctl is-active cronring || finish
# lags: the next 20 starts, in microseconds after their second, the slowest last.
lags() { local from; from=$(wc -l <out/stamps); timeout 60 tail -n +$((from + 1)) -F out/stamps 2>/dev/null | head -n 20 | sort -n; }
await 10 "the clock job runs" test -s out/stamps || finish
lags >out/idle
as mallory /lab/labtool flood "$1" 22s >flooded & lags >out/flood; wait $!
cat flooded
claim "requests were sent" grep -q "^$1 requests" flooded
echo "idle:  median $(sed -n 10p out/idle) us, slowest $(tail -1 out/idle) us"
echo "flood: median $(sed -n 10p out/flood) us, slowest $(tail -1 out/flood) us"
claim "20 starts each" same "$(wc -l <out/idle) $(wc -l <out/flood)" "20 20"
finish
