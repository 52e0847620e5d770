#!/bin/bash
# Furnishes a machine before its services start: users, tables, and one cron.
#   /lab/tables/cron.d/NAME, /lab/tables/users/NAME   crontabs
#   /lab/sendmail    stands in for the mailer
#   /lab/more        what this proof wants besides
#   /lab/tree        cronring's files; Debian's cron is then removed, its daemon
#                    kept as /lab/debian-cron
set -eu
uid=2000
for user in alice bob carol mallory; do
	uid=$((uid + 1))
	useradd -m -u $uid -s /bin/bash $user
done
for table in /lab/tables/cron.d/*; do
	[ ! -e "$table" ] || install -m 644 "$table" /etc/cron.d/
done
[ ! -e /lab/sendmail ] || cp --remove-destination /lab/sendmail /usr/sbin/sendmail
mkdir -p /lab/out/mail /lab/out/unsent /lab/out/probe
chmod 1777 /lab/out/mail /lab/out/unsent /lab/out/probe
if [ -d /lab/tree ]; then
	if [ -x /usr/sbin/cron ]; then
		cp /usr/sbin/cron /lab/debian-cron
		dpkg --remove --force-depends cron >/lab/dpkg.log 2>&1
		dpkg-statoverride --remove /usr/bin/crontab >/dev/null 2>&1 || true
		rm -f /run/crond.pid /run/crond.reboot # of an emulated machine's first minute
	fi
	cp -aT --remove-destination /lab/tree /
	systemctl enable --quiet cronring.service
fi
for table in /lab/tables/users/*; do
	[ ! -e "$table" ] || install -m 600 -o "${table##*/}" -g crontab "$table" /var/spool/cron/crontabs/
done
[ ! -e /lab/more ] || /lab/more
if [ -d /lab/tree ] && [ -d /run/systemd/system ]; then # an emulated machine is up already
	systemctl daemon-reload
	systemctl start cronring.service
fi
