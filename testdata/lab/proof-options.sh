#!/bin/bash
# Tables full of options under other crons: each takes them, says nothing against
# them, and runs all of their entries as if they were plain. The arguments name
# the crons of this machine.
. /lab/lib.sh
spool=/var/spool/cron/crontabs system=/etc/cron.d/options

# words TABLE: what its entries write.
words() { sed -n 's/.* echo \(.*\) >>.*/\1/p' "$1"; }
# ran TABLE: each entry of it has run.
ran() {
	local word missing=""
	for word in $(words "$1"); do grep -qsx "$word" /tmp/fired || missing+=" $word"; done
	same "$missing" ""
}
# told LOG TABLE: LOG has the start of each entry of TABLE.
told() {
	local word missing=""
	# shellcheck disable=SC2086 # words
	[ "$1" = busybox.log ] || journalctl --no-pager -o cat $from >"out/$1"
	for word in $(words "$2"); do has "echo $word " "out/$1" || missing+=" $word"; done
	same "$missing" ""
}
# quiet LOG TABLE...: it tells of starts, and of nothing that is wrong.
quiet() {
	local log=$1 table; shift
	for table in "$@"; do await 60 "$log tells of the starts of $table" told "$log" "$table"; done
	heard
	refute "$log has no complaint" sh -c "grep -i 'error\|bad \|illegal\|syntax\|invalid\|ignor\|refus\|insecure\|cannot\|fail' /lab/out/$log | grep -v 'CMD (\|cmd:'"
}

for cron in "$@"; do
	case $cron in
	# By what they call themselves: journald cannot tell of which unit a process
	# was that has ended when it comes to read what that said.
	debian) log=cron.log from="-t cron -t CRON" checker="crontab -n" tables="$spool/root $system" ;;
	cronie) log=cronie.log from="-t crond -t CROND -t crontab" checker="crontab -T" tables="$spool/root $system" ;;
	busybox)
		mkdir bb && sed 's/user-/busybox-/' $spool/root >bb/root
		tables+=" bb/root"
		busybox crond -f -l 0 -L /lab/out/busybox.log -c /lab/bb &
		trap 'kill $!' EXIT
		;;
	esac
done
for table in $spool/root $system; do
	claim "$checker takes $table" $checker "$table"
done
for table in $tables; do
	await 150 "each of the $(words "$table" | wc -l) entries of $table ran" ran "$table"
done
claim "none ran more than once a minute" test "$(sort /tmp/fired | uniq -c | awk '$1 > most { most = $1 } END { print most }')" -le $((SECONDS / 60 + 2))
quiet $log $spool/root $system
[ ! -e bb ] || quiet busybox.log bb/root
finish
