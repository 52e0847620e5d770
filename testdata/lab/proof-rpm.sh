#!/bin/bash
# What the scripts of the .rpm do on a host of Red Hat's family, or of one that
# says so: first.rpm is installed, second.rpm upgrades it, and is erased.
. /lab/lib.sh
touch /etc/redhat-release
# Nothing of Debian's is known to rpm, and its rpm warns that it is not Debian's way.
rpms() { rpm "$@" --nodeps --force-debian; }
enabled() { systemctl is-enabled "$@" | tr '\n' ' '; }
newest() { timeout 60 cronring history pulse -n 1 -o jsonl | sed 's/.*"due":"\([^"]*\)".*/\1/'; }
later() { [[ $(newest) > $1 ]] || { newest; return 1; }; }

mkdir -p /etc/systemd/system/crond.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/sbin/crond -n -m off\n' >/etc/systemd/system/crond.service.d/override.conf

claim "it is installed" rpms -i first.rpm
claim "and runs" systemctl is-active cronring.service cronring.socket
claim "it starts at boot" same "$(enabled cronring.service cronring.socket)" "enabled enabled "
claim "crond.service is a name of it" same "$(systemctl show -P Id crond.service)" cronring.service
old=$(main_pid)
claim "'systemctl restart crond' restarts it" systemctl restart crond.service
refute "as another process" same "$(main_pid)" "$old"
claim "crontabs are root's to read" same "$(stat -c '%a %U' /var/spool/cron)" "700 root"
claim "crontab(1) is no set-id program" same "$(stat -Lc %a /usr/bin/crontab)" 755
claim "nothing of it is changed" rpm --verify --nodeps cronring
claim "an account installs its crontab" as alice sh -c 'echo "@yearly true" | crontab -'
claim "in the spool of the family" has @yearly /var/spool/cron/alice
cronring list -o json >out/list
claim "hourly jobs are run" has cron.hourly out/list
claim "daily jobs are run in anacron's place" has /etc/cron.daily out/list

cat >/etc/cron.d/load <<'T'
#@ name=pulse every=1s
* * * * * root true
#@ name=long
0 0 29 2 * root touch /lab/began; read x </lab/gate; echo over
T
mkfifo gate
await 30 "it reads a new table" cronring show long
cronring run long >/dev/null
await 30 "a job runs" test -e began
sed -i 's/^#queue-max = .*/queue-max = 1234/' /etc/cronring/cronring.toml
edited=$(sha256sum </etc/cronring/cronring.toml)
await 30 "another starts each second" later 2
old=$(main_pid) seen=$(newest)
claim "it is upgraded" rpms -U second.rpm
await 60 "the new program runs" status_has "cronringd $(rpm -q --qf '%{VERSION}' cronring) "
claim "as the same process" same "$(main_pid)" "$old"
claim "the job goes on" same "$(cronring list @running -o name | grep -c long)" 1
await 30 "and the other, too" later "$seen"
echo >gate
await 30 "its end is seen" sh -c 'timeout 60 cronring history long -o jsonl | grep -q "\"verdict\":\"ok\""'
await 30 "and what it printed" sh -c 'timeout 60 cronring logs long | grep -q over'
claim "settings that were edited stay" same "$(sha256sum </etc/cronring/cronring.toml)" "$edited"
claim "and hold" in_force queue-max 1234
refute "those of the new version do not" in_force max-running 77
claim "but lie beside" has '^max-running = 77' /etc/cronring/cronring.toml.rpmnew

systemctl disable --quiet --now cronring.service cronring.socket
claim "it is upgraded while it does not run" rpms -U --oldpackage first.rpm
refute "and goes on not to" systemctl is-active cronring.service
claim "also at the next boot" same "$(enabled cronring.service cronring.socket)" "disabled disabled "
systemctl enable --quiet --now cronring.service cronring.socket
cronring history pulse -n 1000 -o jsonl >out/pulse

rm -f began
cronring run long >/dev/null
await 30 "a job runs once more" test -e began
old=$(main_pid)
claim "it is erased" rpms -e cronring
refute "its daemon runs no more" kill -0 "$old"
claim "the job is left alone" pgrep -f /lab/gate
rm -r /etc/systemd/system/crond.service.d
refute "no unit is left" systemctl cat cronring.service cronring.socket crond.service
claim "nor a link to one" same "$(find /etc/systemd /usr/lib/systemd -name 'cron*')" ""
claim "nor a unit that failed" same "$(systemctl list-units --failed --no-legend 'cron*')" ""
claim "nor a file but what is whose" same "$(find /usr /etc -name '*cronring*' | sort | tr '\n' ' ')" "/etc/cronring /etc/cronring/cronring.toml.rpmnew /etc/cronring/cronring.toml.rpmsave "
claim "edited settings are put aside" same "$(sha256sum </etc/cronring/cronring.toml.rpmsave)" "$edited"
claim "crontabs stay" has @yearly /var/spool/cron/alice
claim "history stays" test -s /var/lib/cronring/cronring.db
echo >gate

rm /etc/cronring/*
claim "it is installed again" rpms -i first.rpm
await 60 "and knows what was" sh -c 'timeout 60 cronring history long -o jsonl | grep -q "\"verdict\":\"ok\""'
claim "and upgraded with settings that nobody edited" rpms -U second.rpm
await 60 "those of the new version hold" in_force max-running 77
claim "and nothing lies beside" same "$(ls /etc/cronring)" cronring.toml
finish
