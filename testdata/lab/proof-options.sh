#!/bin/bash
# Tables full of options under other crons: each takes them, says nothing against
# them, and runs all of their entries as if they were plain. The arguments name
# the crons of this machine.
#
# Minutes begin: the first while the crons are down, the next while they are up,
# and there the clock of the machine goes an hour ahead, the last while they are
# stopped. What they make of that is left in out/.
. /lab/lib.sh
spool=/var/spool/cron/crontabs system=/etc/cron.d/options losses=/etc/cron.d/losses

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

# up, down, stopped, awake CRON
up() {
	case $1 in
	busybox)
		busybox crond -f -l 0 -L /lab/out/busybox.log -c /lab/bb &
		echo $! >bb.pid
		;;
	*) systemctl start $unit ;;
	esac
}
down() {
	case $1 in
	busybox) [ ! -e bb.pid ] || kill "$(cat bb.pid)" ;;
	*) systemctl stop $unit ;;
	esac
}
pid_of() {
	case $1 in
	busybox) cat bb.pid ;;
	*) systemctl show -P MainPID $unit ;;
	esac
}
stopped() { kill -STOP "$(pid_of "$1")"; }
awake() { kill -CONT "$(pid_of "$1")"; }
each() { # each VERB: of all crons
	local cron
	for cron in "${crons[@]}"; do "$1" "$cron"; done
}

border() { echo $((EPOCHSECONDS / 60 * 60 + 60)); }
past() { [ "$EPOCHSECONDS" -ge "$1" ]; }
# resting: it is far from a minute's ends, and busybox has noticed of all of its
# programs that they ended and what they said; until then it starts them not.
resting() {
	[ $((EPOCHSECONDS % 60)) -ge 5 ] && [ $((EPOCHSECONDS % 60)) -le 50 ] || return
	[ ! -e bb ] || ! ps --no-headers -o args --ppid "$(pid_of busybox)" | grep -v ' live$'
}

# often WHAT CRON N: how many entries told of N such events.
often() { grep -s "\"What\":\"$1\"" "out/$2.events" | grep -o '"Entry":"[^"]*"' | sort | uniq -c | awk -v n="$3" '$1 >= n { entries++ } END { print entries + 0 }'; }
# due WORD...: how many entries of those with one option come due each minute;
# not counted are those whose program does WORD.
due() {
	local word not='^\* \* 31 2'
	for word in "$@"; do not+="\\| $word\$"; done
	grep '^\*' $losses | grep -vc "$not"
}
# started CRON: so many have started, and where gaps of the clock are made up for,
# those that lie in one.
started() {
	local made_up=0
	[ "$1" = busybox ] || made_up=$(grep -c /lab/labtool /etc/cron.d/change)
	same "$(often start "$1" 1)" $(($(due) + made_up))
}
# again CRON: each started a second time, but busybox starts none of which a run lives.
again() {
	local but=()
	[ "$1" != busybox ] || but=(live)
	same "$(often start "$1" 2)" "$(due "${but[@]}")"
}
# ended CRON: each of their programs that comes to an end has done so.
ended() { [ "$(often end "$1" 1)" -ge "$(due vanish)" ]; }
# mailed CRON: so was the output of each entry that has some.
mailed() {
	local name
	for name in $(sed -n 's/.* entry [a-z]* \([^ ]*\) \(talk\|cry\|shout\)$/\1/p' $losses); do
		grep -qs "entry $1 $name " out/mail/* || { echo "nothing of $name"; return 1; }
	done
}

crons=("$@")
mkfifo gate
for cron in "${crons[@]}"; do
	case $cron in
	# By what they call themselves: journald cannot tell of which unit a process
	# was that has ended when it comes to read what that said.
	debian) unit=cron log=cron.log from="-t cron -t CRON" checker="crontab -n" tables="$spool/root $system" ;;
	cronie) unit=cronie log=cronie.log from="-t crond -t CROND -t crontab" checker="crontab -T" tables="$spool/root $system" ;;
	busybox)
		mkdir bb && sed 's/user-/busybox-/' $spool/root | cat - busybox >bb/root
		tables+=" bb/root"
		trap 'kill "$(cat bb.pid)"' EXIT
		;;
	esac
done
for table in $spool/root $system; do
	claim "$checker takes $table" $checker "$table"
done
claim "$checker takes the entries of which each has an option" $checker $losses

each down
missed=$(border)
change=$((missed + 60))
printf 'Rule Lab 1990 only - Jan 1 0:00 0 -\nRule Lab %s 1:00 -\nZone Lab 0:00 Lab LST/LDT\n' "$(date -u -d @$change '+%Y only - %b %-d %-H:%Mu')" >zone
zic -d zones zone && ln -sf /lab/zones/Lab /etc/localtime
claim "the clock of the machine goes an hour ahead" same "$(date -d @$((change - 60)) +%Z) $(date -d @$change +%Z)" "LST LDT"
sed -i "s/@GAP@/$(date -u -d @$((change + 1800)) '+%-M %-H * * *')/" change/*
install -m 644 change/cron.d /etc/cron.d/change
[ ! -e bb ] || cat change/busybox >>bb/root
await 70 "a minute began without a cron" past "$missed"
each up
for table in $tables; do
	await 150 "each of the $(words "$table" | wc -l) entries of $table ran" ran "$table"
done
for cron in "${crons[@]}"; do
	await 100 "$cron started each entry that has one option" started "$cron"
	claim "the place of $cron is known" ./labtool place "$cron" "$(pid_of "$cron")"
done
await 120 "they rest in the middle of a minute" resting
each stopped
asleep=$EPOCHSECONDS late=$(border)
await 70 "a minute began while the crons were stopped" past $((late + 3))
echo "$missed $asleep $EPOCHSECONDS" >out/moments
each awake
for cron in "${crons[@]}"; do
	await 120 "$cron started each of them again" again "$cron"
done
claim "the programs that live are let go" timeout 20 sh -c ': >gate'
for cron in "${crons[@]}"; do
	await 60 "the programs that $cron started are at their end" ended "$cron"
	await 120 "what they said is mailed" mailed "$cron"
done
claim "none ran more than once a minute" test "$(sort /tmp/fired | uniq -c | awk '$1 > most { most = $1 } END { print most }')" -le $((SECONDS / 60 + 2))
quiet $log $spool/root $system
[ ! -e bb ] || quiet busybox.log bb/root
# shellcheck disable=SC2086 # words
journalctl --no-pager -o cat $from >"out/$log"
{
	grep 'said by' out/*.log
	# What busybox has not mailed yet stands in a file like these.
	grep -rlsF --exclude-dir=journal --exclude='cron.root.*' 'said by' /etc /root /run /tmp /var
} >found
for cron in "${crons[@]}"; do cp found "out/$cron.found"; done
finish
