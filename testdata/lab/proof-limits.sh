#!/bin/bash
# Jobs that eat the machine, under limits: it stays usable, others start on
# time, and the history has the right reason. VERSION is that of the machine's
# control groups: 1 or 2.
. /lab/lib.sh
version=$1
await 60 "the daemon is ready" systemctl is-active cronring || finish

# ends JOB: starts it by hand and awaits its end. The run is left in out/JOB.
ends() {
	cronring run "$1" >"out/$1.run" 2>&1
	await 120 "$1 ends" ended "$1"
}
ended() { cronring history "$1" -n 1 -o jsonl >"out/$1" && has '"state":"ended"' "out/$1"; }
reason() { has "\"reason\":\"$2\"" "out/$1" || { cat "out/$1"; return 1; }; }
# nobody NAME: no process has that in its command line.
nobody() { ! pgrep -f "$1"; }
# groups: directories of runs.
groups() { find /sys/fs/cgroup -type d -path '*cronring-runs*' -name '[0-9]*'; }
no_groups() { [ -z "$(groups)" ] || { groups; return 1; }; }

await 60 "the clock job runs in peace" sh -c 'test "$(wc -l </lab/out/ticks)" -ge 5' || finish
cronring history clock -n 4 -o jsonl >out/peace

ends bomb
claim "a fork bomb is ended for its processes" reason bomb over-tasks
await 60 "nothing of it is left" nobody bomb-of-the-lab
ends hog
claim "a memory hog is ended for its memory" reason hog over-memory
ends deaf
claim "a job that ignores SIGTERM is ended for its time" reason deaf over-time
await 60 "nothing of it is left" nobody 'sleep 4242'
ends gone
claim "a job whose child left the session is ended for its time" reason gone over-time
await 60 "its child is ended too" nobody 'sleep 4343'
ends good
claim "a job within its limits succeeds" has '"kind":"exited"}' out/good
claim "what it used is in the history" grep -Eq '"usage":\{"cpu":[0-9]+,"memory":[0-9]{8}' out/good
ends left
await 60 "what a job leaves behind on purpose goes on" pgrep -f 'sleep 4444'
claim "where it was limited" sh -c 'cat /proc/$(pgrep -of "sleep 4444")/cgroup | grep cronring-runs'
kill "$(pgrep -of 'sleep 4444')"
ends sliced
claim "slice= puts a job into that slice" has jobs.slice out/where
cronring history clock -n 200 -o jsonl >out/eaten

# What the host cannot enforce is not done without.
if [ "$version" = 1 ]; then
	claim "what version 1 cannot do is not done without" sh -c 'cronring why soft | grep "memory-high= needs control groups of version 2"'
	refute "nor when a person asks for it" sh -c 'cronring run soft --wait && test -e /lab/out/soft-ran'
else
	ends soft
	claim "memory-high= works" has '"kind":"exited"}' out/soft
fi

# Runs keep their groups over a crash, a reload and a restart.
cronring run sleeper >/dev/null
await 60 "the sleeper sleeps" pgrep -f 'sleep 4545'
# A killed process says nothing more: what systemd has not read by then is lost.
await 60 "systemd keeps its descriptors" sh -c 'test "$(systemctl show -P NFileDescriptorStore cronring)" -ge 3'
# The daemon alone: where systemd has version 1 to itself, runs are in its unit.
for how in "kill --kill-who=main -s KILL" reload restart; do
	before=$(main_pid)
	# shellcheck disable=SC2086
	systemctl $how cronring
	[ "$how" = reload ] || await 60 "there is another daemon after $how" sh -c "[ \$(systemctl show -P MainPID cronring) != $before ]"
	await 60 "the daemon is ready after $how" cronring status
	claim "the run lives on after $how" pgrep -f 'sleep 4545'
done
cronring stop sleeper >/dev/null
await 60 "all of it is ended by a daemon that did not start it" nobody 'sleep 4545'
await 60 "no group is left" no_groups
holders() { systemctl list-units --no-legend 'cronring-runs-*' | wc -l; }
# One for each slice that is asked for.
await 60 "the holders of daemons that are gone went too" sh -c "[ \$(systemctl list-units --no-legend 'cronring-runs-*' | wc -l) -le 2 ]"
holders >out/holders
finish
