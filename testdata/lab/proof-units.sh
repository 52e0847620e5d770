#!/bin/bash
# The units are right as systemd sees them, and the daemon comes up from them.
. /lab/lib.sh
systemctl --version | head -1
for unit in cronring.service cronring.socket; do
	claim "$unit passes systemd-analyze verify" systemd-analyze verify --man=no /usr/lib/systemd/system/$unit
	claim "and says nothing" same "$(systemd-analyze verify --man=no /usr/lib/systemd/system/$unit 2>&1)" ""
done
if [ "$1" = run ]; then
	await 60 "the daemon is ready" systemctl is-active cronring.service || finish
	claim "the socket is open to all" same "$(stat -c '%a %U' /run/cronring/cronring.sock)" "666 root"
	claim "the state directory is root's alone" same "$(stat -c '%a %U' /var/lib/cronring)" "700 root"
	claim "the runtime directory is public" same "$(stat -c '%a %U' /run/cronring)" "755 root"
	claim "crontab(1) is no set-id program" same "$(stat -Lc %a /usr/bin/crontab)" 755
	claim "it answers" cronring status
	heard
	refute "nothing is broken at first" journalctl -q -u cronring -p err --grep .
	# What a package ships for scripts that know the old name. It is there before
	# the daemon runs: systemd 252 may take a running service for dead when a
	# name that it knew as another's is merged into it.
	systemctl stop cronring
	ln -s cronring.service /usr/lib/systemd/system/cron.service; systemctl daemon-reload
	systemctl start cronring
	old=$(main_pid)
	claim "'systemctl restart cron' restarts us through a link" systemctl restart cron
	claim "and is not refused as a conflict with ourselves" systemctl is-active cronring.service cron.service
	refute "the process is another one" same "$(main_pid)" "$old"
fi
finish
