#!/bin/bash
# A package's life: installed while a minute begins, removed for Debian's cron,
# installed by dpkg alone, upgraded while jobs start and run, removed, installed
# again, purged, installed anew, and replaced by Debian's cron.
. /lab/lib.sh
. /lab/takeover.sh
package=$(ls new/*.deb)
newer=$(ls newer/*.deb)
await 60 "Debian's cron runs" systemctl is-active cron || finish
facts before

claim "a minute begins after cron is removed, and before we are there" apt -o Dir::Bin::dpkg=/lab/slow-dpkg install "./$package"
echo "$EPOCHREALTIME" >out/installed
await 60 "each of its jobs has started" all_started 1
claim "cron is back" apt install cron
claim "dpkg alone puts it in cron's place" quietly dpkg --install "$package"
facts dpkg
claim "systemctl restart cron" systemctl restart cron
claim "what cron left is purged" apt purge cron
facts purged-cron
restarts "systemctl restart cron" systemctl restart cron
restarts "invoke-rc.d cron restart" invoke-rc.d cron restart
refute "dpkg alone does not put cron back" quietly dpkg --install debs/cron_*.deb
facts refused
claim "and we run on" cronring status --ping

# Under load.
sed -i 's/^#queue-max = .*/queue-max = 1234 # of the administrator/' /etc/cronring/cronring.toml
install -m 644 pulse long /etc/cron.d
await 60 "a job starts in each second" test -s out/pulse
cronring run long >/dev/null
await 60 "a long one runs" test -s out/long
old=$(main_pid)
claim "a newer version is installed" apt -o Dpkg::Options::=--force-confold install "./$newer"
claim "the process is the same" same "$(main_pid)" "$old"
await 60 "the program is the new one" sh -c "cmp -s /proc/$old/exe /usr/sbin/cronringd"
await 60 "it answers, and says so" sh -c "timeout 60 cronring status | grep -F ' $(dpkg-query -W -f '${Version}' cronring | cut -d - -f 1) '"
claim "the settings are as they were" has '# of the administrator' /etc/cronring/cronring.toml
claim "and hold" in_force queue-max 1234
refute "those of the new version do not" in_force max-running 77
claim "but lie beside" has '^max-running = 77' /etc/cronring/cronring.toml.dpkg-dist
seen=$(wc -l <out/pulse)
await 60 "the job of each second goes on" sh -c "test \$(wc -l <out/pulse) -gt $((seen + 2))"
claim "the long job lives" kill -0 "$(cat out/long)"
facts upgraded
rm /etc/cron.d/pulse
await 60 "no job starts any more" sh -c '! timeout 60 cronring list -o name | grep -x pulse'

# A program that is cut short does not take the place of the one that runs.
mv /usr/sbin/cronringd whole
head -c 5000000 whole >/usr/sbin/cronringd
chmod 755 /usr/sbin/cronringd
refute "half a program is not executed" systemctl reload cronring
mv whole /usr/sbin/cronringd
claim "the daemon is the same" same "$(main_pid)" "$old"
claim "and answers" cronring status --ping

claim "the administrator stops it" systemctl stop cronring
claim "it is installed once more" quietly dpkg --install "$newer"
refute "and stays stopped" systemctl is-active cronring.service cronring.socket
claim "until it is started" systemctl start cronring

claim "it is removed" apt remove cronring
facts removed
claim "the long job lives" kill -0 "$(cat out/long)"
release
await 60 "nothing is left behind then" over
claim "it is installed again" apt install "./$newer"
claim "with the settings" has '# of the administrator' /etc/cronring/cronring.toml
await 60 "and the end of the long job in its history" sh -c 'timeout 60 cronring history long -o jsonl | grep -F "\"code\":7"'
cronring history long -o jsonl >out/history
cronring logs long >out/logs

claim "it is purged" apt purge cronring
release
await 60 "nothing runs any more" over
facts purged
claim "it is installed anew" apt install "./$package"
facts anew
# Jobs of each minute may have run since. The long job has not.
claim "without a memory" same "$(cronring history long -o jsonl)" ""
asked=$(grep -c '^Configuration file' out/apt.log)
claim "and upgraded with settings that nobody edited" quietly dpkg --install "$newer"
await 60 "those of the new version hold" in_force max-running 77
claim "nobody was asked about them" same "$(grep -c '^Configuration file' out/apt.log)" "$asked"
claim "and nothing lies beside" same "$(ls /etc/cronring)" cronring.toml
claim "apt puts cron back" apt install cron
facts back
await 60 "the next minute is some time away" early
release
await 60 "what we started in a minute that began meanwhile is over" over
claim "what is left of us is purged" apt purge cronring
facts cron
claim "and cron runs on" systemctl is-active cron
await 60 "the next minute is some time away" early
echo "$EPOCHREALTIME" >out/end
release
ending
