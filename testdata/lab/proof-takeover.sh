#!/bin/bash
# Debian's cron and anacron run; apt puts cronring in cron's place, and then cron in
# that of cronring. Jobs start in each minute meanwhile. What became of them, and of
# the machine, is left in out/ for the test to judge.
. /lab/lib.sh
. /lab/takeover.sh
package=$(ls new/*.deb)
doctor_has() { cronring doctor | has "$1"; }
await 60 "Debian's cron runs" systemctl is-active cron || finish
echo "$EPOCHREALTIME" >out/begin
minute cron
facts before
ls -l /run/crond.reboot >out/reboot

switch apt install "./$package"
facts installed
claim "a process of cron's waits for the end of its job" pgrep -x cron
claim "which is no second cron to doctor" doctor_has 'no second cron runs'
claim "nobody was asked anything" same "$(grep -c 'Configuration file\|\[Y/n\]' out/apt.log)" 0
claim "the old name is alive" systemctl status --no-pager cron
restarts "systemctl restart cron" systemctl restart cron
restarts "invoke-rc.d cron restart" invoke-rc.d cron restart
claim "systemctl reload cron" systemctl reload cron
claim "the mark of the boot stays" same "$(ls -l /run/crond.reboot)" "$(cat out/reboot)"
claim "alice lists what she had" sh -c "setpriv --reuid=alice --regid=alice --init-groups crontab -l | cmp - tables/users/alice"
claim "carol installs a crontab" as carol sh -c "echo '* * * * * $PWD/labtool entry host carol quick' | crontab -"
claim "as Debian's would have" same "$(stat -c '%a %U:%G' /var/spool/cron/crontabs/carol)" "600 carol:crontab"
minute cronring
await 30 "carol's job is started" has '"Entry":"carol"' out/host.events
claim "and taken away again" as carol crontab -r

# Anacron's days, when it goes and comes.
claim "with anacron its jobs are left to it" same "$(cronring list -o name | grep -c '^cron\.')" 0
claim "anacron goes" apt remove anacron
await 30 "its jobs are ours" sh -c 'timeout 60 cronring list -o name | grep -x cron.daily'
# But at midnight.
[ "$(cat /var/spool/anacron/cron.daily)" != "$(date +%Y%m%d)" ] || refute "today's has been" sh -c 'timeout 60 cronring list @running -o name | grep -x cron.daily'
cronring next cron.daily >out/daily
claim "anacron comes back" apt install anacron
await 30 "and its jobs are its own" sh -c '! timeout 60 cronring list -o name | grep -x cron.daily'

switch apt install cron
facts back
await 60 "Debian's cron runs again" systemctl is-active cron
minute cron
# It ran what our history does not know of.
switch apt install "./$package"
facts again
await 60 "all is ready" cronring status --ping
echo "$EPOCHREALTIME" >out/end
release
await 60 "each letter is out" equally "$(often start alice)" grep -lr 'said by alice' out/mail
ending
