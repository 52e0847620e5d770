# shellcheck shell=bash
# shellcheck disable=SC2154 # failures is lib.sh's
# What the proofs about packages share; lib.sh was read before it.
export DEBIAN_FRONTEND=noninteractive

# quietly COMMAND...: with nobody there to answer questions, and all that it says
# kept in out/apt.log.
quietly() {
	echo "# $*" >>out/apt.log
	"$@" </dev/null 2>&1 | tee -a out/apt.log
	return "${PIPESTATUS[0]}"
}
apt() { quietly apt-get -q -y --no-install-recommends "$@"; }

# facts STAGE: what the machine is now, as files in out/STAGE.
facts() {
	local to=out/$1 unit
	mkdir -p "$to"
	tables >"$to/tables"
	dpkg-query -W -f '${Package} ${db:Status-Status}\n' '*cron*' >"$to/packages"
	dpkg-statoverride --list '*crontab*' >"$to/overrides"
	stat -L -c '%a %U:%G' /usr/bin/crontab >"$to/crontab"
	for unit in cron.service cronring.service cronring.socket anacron.timer; do
		systemctl show -p Id,LoadState,ActiveState,UnitFileState,FragmentPath "$unit" | sed "s/^/$unit /"
	done >"$to/units"
	{ systemctl --failed --plain --no-legend; dpkg --audit; } >"$to/broken" 2>&1
	severed >"$to/severed"
	traces >"$to/traces"
	ps -e -o comm=,unit= | tr -s ' ' | grep "^cron" >"$to/processes"
}
# tables: all that belongs to users and to other crons, with rights and contents;
# of the folders of tables the times, too.
tables() {
	find /var/spool/cron /etc/crontab /etc/cron.* -printf '%m %U:%G %T@ %y %p\n' | sort -k 5
	find /var/spool/cron /etc/crontab /etc/cron.* /etc/anacrontab /etc/pam.d/cron /etc/default/*cron /var/spool/anacron -type f -exec sha256sum {} + | sort -k 2
	getent group crontab
}
# severed: links of units that lead nowhere.
severed() { find -L /etc/systemd /usr/lib/systemd -type l -printf '%p\n' | sort; }
# traces: whatever is named after us, and what we leave under other names; not what
# belongs to dpkg, the lab or the kernel's view of processes, nor logs of others.
traces() {
	{
		find / -xdev \( -path /lab -o -path /proc -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \) -prune -o -name '*cronring*' -print
		find /run /sys/fs/cgroup -name '*cronring*'
		getent passwd cronring; getent group cronring
	} | sort -u
}

# minute WHO: each job of each minute starts, once, in the next one.
minute() {
	local seen
	seen=$(wc -l <out/host.events)
	await 80 "$1 started each job of the next minute" all_started $((seen + 1))
}
all_started() {
	local name
	for name in $(sed -n 's/^\* \* \* \* \* .* entry host \([^ ]*\) .*/\1/p' tables/cron.d/* tables/users/*); do
		tail -n "+$1" out/host.events | grep '"What":"start"' | has "\"Entry\":\"$name\"" || { echo "not $name"; return 1; }
	done
}
# often WHAT NAME: so many such events of entries whose names begin so.
often() { grep "\"Entry\":\"$2" out/host.events | grep -c "\"What\":\"$1\""; }
# equally N COMMAND...: it says N, or N lines.
equally() {
	local n=$1 said
	shift; said=$("$@")
	[ "$said" = "$n" ] || same "$(grep -c . <<<"$said")" "$n"
}
# switch COMMAND...: another cron takes over in the middle of a minute. When, is noted.
switch() {
	local from said
	await 60 "the next minute is some time away" early
	from=$EPOCHREALTIME
	said=$(quietly "$@") && ok "$*" || no "$* said: $(tail -n 5 <<<"$said" | tr '\n' '|')"
	echo "$from $EPOCHREALTIME" >>out/switches
}
early() { [ $((EPOCHSECONDS % 60)) -ge 3 ] && [ $((EPOCHSECONDS % 60)) -le 35 ]; }

# release: what waits at the gate goes on, and each of the jobs that live ends, and then the process of
# Debian's cron that waits for it. On a busy machine a job may come to the gate late, so that it is opened
# again.
release() { await 60 "each job that lived ends" released; }
released() {
	: <>gate
	same "$(often end long)" "$(often start long)" && ! ps -e -o comm=,unit= | grep -q "^cron  *cron-jobs-"
}

# restarts WHAT COMMAND...: it starts our daemon anew.
restarts() {
	local what=$1 old
	shift; old=$(main_pid)
	claim "$what" "$@"
	refute "the daemon is another process" same "$(main_pid)" "$old"
	await 60 "and answers" cronring status --ping
}
# over: nothing that a cron of ours started runs any more.
over() { ! pgrep -x 'cronring-shim|cronringd' && ! find /sys/fs/cgroup -name '*cronring*' | grep .; }
# ending: what the machine has to say of it all, for the test and for who reads of
# a failure.
ending() {
	heard
	journalctl --no-pager -o short-precise >out/journal.txt
	[ $failures = 0 ] || grep -v 'systemd-tmpfiles\|run-parts' out/journal.txt | tail -n 200
	finish
}
