#!/bin/bash
# Sets the clock of an emulated machine to shortly before each CASE and lets a
# cron live through it. What it starts is left in out/CASE.log, in UTC.
. /lab/lib.sh
unit=cron
[ ! -d /lab/tree ] || unit=cronring
printf '#!/bin/sh\necho "$(date -u +%%H:%%M) $1" >>/lab/out/log\n' >mark; chmod 755 mark
for case in "$@"; do
	move=:
	case $case in # time zone, UTC, and the minute (UTC) that ends the case
	month) zone=UTC now='2027-02-28 23:58:40' end=00:02 ;;
	spring) zone=America/New_York now='2027-03-14 06:58:40' end=07:02 ;;
	zone) zone=UTC now='2027-05-10 11:58:40' end=12:03 move='ln -sf /usr/share/zoneinfo/America/New_York /etc/localtime' ;;
	autumn) zone=America/New_York now='2027-11-07 05:58:40' end=06:02 ;;
	leap) zone=UTC now='2028-02-28 23:58:40' end=00:02 ;;
	year) zone=UTC now='2028-12-31 23:58:40' end=00:02 ;;
	*) no "unknown case $case"; continue ;;
	esac
	systemctl stop $unit
	ln -sf /usr/share/zoneinfo/$zone /etc/localtime
	date -u -s "$now" >/dev/null
	: >out/log
	systemctl start $unit
	grep -q every <(timeout 150 tail -n +1 -F out/log)
	$move
	# The minute after the end says that all before is done, catch-up starts too.
	timeout 600 sh -c "tail -n +1 -F out/log | grep -m1 '^$end every'" >/dev/null
	claim "$case: lived until $end" grep -q "^$end every" out/log
	mv out/log "out/$case.log"
done
finish
