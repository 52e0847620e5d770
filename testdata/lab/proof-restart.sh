#!/bin/bash
# N jobs run while the daemon is restarted, reloaded, killed and upgraded. What
# became of them is left in out/ACTION for the test to judge.
. /lab/lib.sh
n=$1; shift
await 60 "the daemon is ready" systemctl is-active cronring || finish
await 60 "it knows its $n jobs" sh -c "test \$(timeout 60 cronring list -o name | grep -c '^j[0-9]') -eq $n" || finish
# recorded FILE: the newest runs, which are left there, are over.
recorded() {
	cronring history 'j*' -n "$n" -o jsonl >"$1"
	same "$(grep -c '"state":"ended"' "$1")" "$n"
}
for action in "$@"; do
	mkdir -p "out/$action"
	rm -f started survived; touch started survived
	rm -f gate; mkfifo gate
	cronring run 'j*' >/dev/null
	await 120 "$action: $n jobs have started" sh -c "test \$(wc -l </lab/started) -eq $n"
	# A killed process says nothing more: what systemd has not read by then is lost.
	await 60 "$action: systemd keeps their descriptors" sh -c "test \$(systemctl show -P NFileDescriptorStore cronring) -ge $((3 * n))"
	old=$(main_pid)
	case $action in
	restart) systemctl restart cronring ;;
	reload) systemctl reload cronring ;;
	kill*) kill -9 "$old" ;;
	upgrade)
		cp /usr/sbin/cronringd new; echo newer >>new; chmod 755 new
		mv new /usr/sbin/cronringd; systemctl reload cronring ;;
	esac
	case $action in
	restart | kill*) await 60 "$action: a new daemon" sh -c "p=\$(systemctl show -P MainPID cronring); test \$p != $old && test \$p != 0" ;;
	upgrade) await 60 "$action: the new program runs" sh -c 'cmp -s /proc/$(systemctl show -P MainPID cronring)/exe /usr/sbin/cronringd' ;;
	esac
	case $action in reload | upgrade) claim "$action: the process is the same" same "$(main_pid)" "$old" ;; esac
	await 60 "$action: it answers" cronring status
	claim "$action: no job was killed" same "$(wc -l <survived) $(pgrep -c -x job)" "0 $n"
	await 60 "$action: it knows that they run" sh -c "test \$(timeout 60 cronring list @running -o name | grep -c '^j') -eq $n"
	timeout 120 sh -c 'exec 9>gate; while [ $(wc -l <survived) -lt '"$n"' ] && pgrep -x job >/dev/null; do sleep 0.1; done'
	claim "$action: no job was blocked" same "$(wc -l <survived)" "$n"
	await 60 "$action: all ends are seen" sh -c "! timeout 60 cronring list @running -o name | grep -q '^j'"
	await 60 "$action: the history has all $n" recorded "out/$action/history.jsonl"
	for i in $(seq "$n"); do cronring logs "j$i" >"out/$action/j$i" 2>&1; done
done
said >out/journal.txt
finish
