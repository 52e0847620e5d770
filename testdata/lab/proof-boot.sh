#!/bin/bash
# Boot, the lock of all crons, the journal, the watchdog, socket activation.
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
await 60 "@reboot jobs run at boot" test -s out/reboot
claim "Debian's marker is written" test -e /run/crond.reboot
systemctl restart cronring; await 60 "it is back after a restart" cronring status
rm -f /run/crond.reboot; systemctl restart cronring; await 60 "and after one without the marker" cronring status
systemctl stop cronring; mv /var/lib/cronring /var/lib/cronring.old; touch /run/crond.reboot
systemctl start cronring; await 60 "and with the marker but no history" cronring status
printf '#@ name=later\n@reboot root echo later >>/lab/out/reboot\n' >/etc/cron.d/later
await 60 "a table with @reboot is added" cronring show later
await 120 "and a minute passes" sh -c "test \$(wc -l </lab/out/pulse) -gt 2"
claim "@reboot ran once in this boot" same "$(cat out/reboot)" "booted"
claim "the status says so" sh -c "systemctl status cronring | grep -E 'Status: .*job'"
systemctl status cronring --no-pager | head -15

if [ -x debian-cron ]; then
	refute "a real cron does not start beside us" timeout 20 ./debian-cron -f
	await 60 "as we hold its lock" sh -c "journalctl --no-pager -o cat | grep \"can't lock\""
	systemctl stop cronring
	systemd-run -q --unit=theirs /lab/debian-cron -f
	await 60 "a real cron starts without us" sh -c 'test -s /run/crond.pid && grep -q "$(cat /run/crond.pid)" /sys/fs/cgroup/*/system.slice/theirs.service/cgroup.procs'
	timeout 30 systemctl start cronring
	claim "we do not start beside a real cron" sh -c '! systemctl is-active -q cronring'
	# It has ended, so what it said itself may have lost whose it was.
	await 60 "and say why" sh -c "journalctl --no-pager -o cat -t cronringd | grep 'crond.pid\|another cron\|already runs'"
	systemctl stop theirs
	await 60 "and start when it is gone" systemctl is-active cronring
else
	no "there is no Debian cron to try"
fi

cronring run voice --wait >/dev/null
await 60 "a job's lines are found by its name" sh -c 'journalctl --no-pager -o cat -u cronring CRONRING_JOB=voice | grep -x "hello from voice"'
heard
refute "and no other job's" sh -c 'journalctl --no-pager -o cat CRONRING_JOB=voice | grep beat'
for field in RUN INVOCATION DUE TRIGGER ATTEMPT OUTCOME TABLE LINE; do
	await 60 "the journal has CRONRING_$field" sh -c "journalctl --no-pager -o verbose CRONRING_JOB=voice | grep CRONRING_$field"
done
await 60 "log watchers find the command" sh -c 'journalctl --no-pager -t CRON -o short | grep -E "CRON\[[0-9]+\]: \(root\) CMD \(echo hello from voice\)"'
pid=$(cronring history voice -n 1 -o jsonl | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
await 60 "CRON[pid] has the number of a process that has ended at once" sh -c 'journalctl --no-pager -u cronring -t CRON -o short | grep -F "CRON['"$pid"']: (root) CMD (echo hello from voice)"'

cronring run sleeper >/dev/null; await 60 "a job runs" test -s out/sleeper
await 60 "CRON[pid] has the number of the job's process" sh -c 'journalctl --no-pager -u cronring -t CRON -o short | grep -F "CRON[$(cat out/sleeper)]: (root) CMD (echo"'
echo go >gate; await 60 "it ends" sh -c 'timeout 60 cronring history sleeper -n 1 -o jsonl | grep "\"code\":7"'; rm -f gate out/sleeper

mkdir -p /run/systemd/system/cronring.service.d
printf '[Service]\nWatchdogSec=8s\nTimeoutAbortSec=2s\n' >/run/systemd/system/cronring.service.d/fast.conf
systemctl daemon-reload; systemctl restart cronring; await 60 "a fast watchdog is set" cronring status
cronring run sleeper >/dev/null; await 60 "a job runs" test -s out/sleeper
old=$(main_pid) restarts=$(systemctl show -P NRestarts cronring)
sleep 10 # longer than the watchdog's time: the loop must feed it by itself
claim "an idle daemon feeds the watchdog" same "$(main_pid)" "$old"
kill -STOP "$old"
await 60 "systemd ends a daemon that stands still" sh -c "test \$(systemctl show -P NRestarts cronring) -gt $restarts"
await 60 "and starts it again" cronring status
await 60 "as the watchdog's doing" journal_has '[Ww]atchdog'
claim "its job lives" kill -0 "$(cat out/sleeper)"
echo go >gate
await 60 "and its end is seen" sh -c 'timeout 60 cronring history sleeper -o jsonl | grep -E "\"code\":7|\"lost\""'
refute "and not as success" sh -c 'timeout 60 cronring history sleeper -o jsonl | grep -E "\"kind\":\"ok\""'

systemctl stop cronring.service
refute "a daemon that was stopped is not started by whoever asks" timeout 20 su mallory -c 'cronring status'
refute "it stays stopped" systemctl is-active cronring
systemctl start cronring.socket
claim "the socket waits without the daemon" test -S /run/cronring/cronring.sock
claim "asking starts the daemon" cronring status
claim "it is active" systemctl is-active cronring
said >out/journal.txt
finish
