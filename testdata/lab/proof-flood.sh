#!/bin/bash
# A job starts each second, first in peace, then under N requests, and at last
# while a user's job prints without end. The runs of the first two are left in out/.
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

logs() { du -skc /var/log /run/log/journal 2>/dev/null | tail -n 1 | cut -f 1; } # KiB
before=$(logs)
cronring run bob/yes --wait >/dev/null
cronring pause clock >/dev/null
entries() { journalctl --no-pager -o cat -u cronring "$@" | wc -l; }
recorded() { test "$(entries MESSAGE_ID=72798f6ebd4d4ff0b56741dc720f6219 CRONRING_JOB=clock)" = "$(cronring history clock -n 5000 -o jsonl | wc -l)"; }
await 60 "a user's job that prints without end suppresses no end of a run in the journal" recorded
claim "nor a start" same "$(entries MESSAGE_ID=96081cf748e7461f9229a3a0a8638837 CRONRING_JOB=clock)" "$(cronring history clock -n 5000 -o jsonl | wc -l)"
refute "nor anything else" sh -c 'journalctl --no-pager -o cat | grep "Suppressed [0-9]* messages from cronring"'
claim "the journal has the head of its output" same "$(entries CRONRING_JOB=bob/yes CRONRING_STREAM=out)" 1000
await 60 "and how much is not there" sh -c 'journalctl --no-pager -o cat CRONRING_JOB=bob/yes | grep "^[0-9]* more bytes of output ([0-9]* lines) are not logged: see cronring logs [0-9]*$"'
claim "in one line: $(journalctl --no-pager -o cat CRONRING_JOB=bob/yes | grep "not logged")" same "$(entries CRONRING_JOB=bob/yes CRONRING_STREAM=sys)" 1
grown=$(($(logs) - before))
claim "the logs grew by $grown KiB, and by 16 MiB at most (the journal grows by 8 MiB at a time)" test "$grown" -le 16384
finish
