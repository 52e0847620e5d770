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
# quiet LOG: it tells of starts, and of nothing that is wrong.
quiet() {
	claim "$1 tells of the starts" has "-plain" "out/$1"
	refute "$1 has no complaint" sh -c "grep -i 'error\|bad \|illegal\|syntax\|invalid\|ignor\|refus\|insecure\|cannot\|fail' /lab/out/$1 | grep -v 'CMD (\|cmd:'"
}

for cron in "$@"; do
	case $cron in
	debian) unit=cron checker="crontab -n" tables="$spool/root $system" ;;
	cronie) unit=cronie checker="crontab -T" tables="$spool/root $system" ;;
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
claim "none ran again and again" test "$(sort /tmp/fired | uniq -c | awk '$1 > most { most = $1 } END { print most }')" -le 3
journalctl --no-pager -o cat -u $unit >out/$unit.log
quiet $unit.log
[ ! -e bb ] || quiet busybox.log
finish
