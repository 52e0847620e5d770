#!/bin/bash
# alice names her jobs as bob and root name theirs: nothing of theirs changes, and nothing
# about them is shown to her.
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
install -d -m 1777 out/jobs
crontab_of() { as "$1" crontab -; }
# shows WHO PATTERN COMMAND...: cronring shows WHO a line with the pattern.
shows() { local who=$1 pattern=$2; shift 2; as "$who" timeout 60 cronring "$@" | grep -- "$pattern"; }
lines() { cat "out/jobs/$1" 2>/dev/null | wc -l; }
# seconds N: root's clock starts N more times.
seconds() {
	local until=$(($(lines clock) + $1))
	await 60 "$1 more seconds" more "$until"
}
more() { [ "$(lines clock)" -ge "$1" ]; }
# victims WHOSE: what the jobs of bob and root do in every second.
victims() {
	printf '#@ name=danger sec=*\n* * * * * %secho ran >>/lab/out/jobs/danger.%s\n' "$2" "$1"
	printf '#@ name=long sec=* overlap=skip\n* * * * * %secho ran >>/lab/out/jobs/long.%s; until test -e /lab/gate; do sleep 0.2; done\n' "$2" "$1"
	printf '#@ name=bad on-exhausted=dead\n0 0 29 2 * %sexit 7\n' "$2"
}
victims bob "" | crontab_of bob
victims root "root " >/etc/cron.d/victims
for who in bob root; do
	await 60 "the jobs of $who run" test -s "out/jobs/danger.$who" -a -s "out/jobs/long.$who"
	as $who timeout 60 cronring run bad --wait >/dev/null 2>&1
	claim "$who pauses a job" as $who cronring pause danger --reason "do not run"
	claim "$who has a dead letter" shows $who bad dead list
done
seconds 1
dangers=$(lines danger.bob).$(lines danger.root)

# unchanged WHEN: what must not change for bob and root, whatever alice does.
unchanged() {
	claim "$1: paused jobs do not run" same "$(lines danger.bob).$(lines danger.root)" "$dangers"
	claim "$1: overlap=skip starts no second run" same "$(lines long.bob).$(lines long.root)" 1.1
	for who in bob root; do
		claim "$1: the job of $who is paused" shows $who 'do not run' show danger
		claim "$1: $who has the dead letter" shows $who bad dead list
	done
}
printf '#@ name=%s\n0 0 29 2 * true\n' danger long bad | crontab_of alice
await 60 "the crontab of alice is read" as alice cronring show danger
seconds 3
unchanged "alice uses the names"

# reads COMMAND...: shows alice nothing of a job of another user.
reads() {
	as alice timeout 60 cronring "$@" >reads 2>&1
	refute "alice: $* shows nothing of others" grep -E 'do not run|bob|exit 7|run [0-9]' reads
}
for job in danger long bad; do
	due=$(cronring history $job --skipped -n 1 -o jsonl | grep -o '"due":"[^"]*' | head -n 1 | cut -c 8-)
	reads history $job
	reads history $job --skipped
	reads why $job
	[ -z "$due" ] || reads why $job --at "$due"
	reads stats $job
	reads timeline $job
done
for verb in "stop long" "resume danger" "retry bad" "dead retry bad" "ack bad" "resume bob/danger" "stop bob/long" "run bob/danger" "resume root/danger"; do
	# shellcheck disable=SC2086 # words
	as alice timeout 60 cronring $verb >/dev/null 2>&1
done
seconds 2
unchanged "alice acts on the names"

systemctl restart cronring
await 60 "the daemon is ready again" cronring status
seconds 3
unchanged "after a restart"

as alice crontab -r
seconds 2
unchanged "alice has no jobs any more"
: >gate
finish
