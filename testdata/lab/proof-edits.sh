#!/bin/bash
# Tables are edited under a running daemon, well and badly: what is bad is
# refused by word, in the journal and in the status, and the rest runs.
. /lab/lib.sh
crond=/etc/cron.d spool=/var/spool/cron/crontabs
printf '#@ name=pulse every=1s\n* * * * * root echo beat >>/lab/out/pulse\n' >$crond/pulse
printf '#@ name=long\n* * * * * root true\n' >$crond/long
await 60 "a new file is read" cronring show pulse || finish
await 60 "and runs" test -s out/pulse
before=$(main_pid)
# pulse: the other jobs go on, seen by two further beats.
pulse() { local n; n=$(wc -l <out/pulse); await 60 "$1: the rest runs" sh -c "test \$(wc -l </lab/out/pulse) -ge $((n + 2))"; }
# refused WHAT NAME WORDS JOB: the table NAME is refused with WORDS, and JOB in it does not count.
refused() {
	await 60 "$1 is refused in the journal: $3" journal_has "$2.*\($3\)\|\($3\).*$2"
	await 60 "$1: the status names it" sh -c "timeout 60 cronring status | grep -- '$2'"
	refute "$1: what it says does not count" sh -c "timeout 60 cronring list -o name | grep -x '$4'"
	pulse "$1"
}
job() { printf '#@ name=%s every=1s\n* * * * * %secho ran >>/lab/out/ran.%s\n' "$1" "${2:+$2 }" "$1"; }

./labtool edits $crond/busy 1000 | tee took
await 60 "after 1,000 edits the last version counts" cronring show final
await 60 "and runs" grep -q final out/edited
refute "no draft is left" sh -c 'cronring list -o name | grep draft'
reads=$(said | grep -c 'RELOAD.*busy\|read.*busy')
# A table is read when it has been quiet for 0.2 s, so a slow machine's more often.
claim "it was read $reads times, not 1,000" test "$reads" -ge 1 -a "$reads" -le $((10 + $(grep -o '[0-9]* ms$' took | cut -d' ' -f1) / 200))
pulse "1,000 edits"

job writable root >$crond/writable; await 60 "a good table is read" cronring show writable
# What a table said while it was trusted may stay; what it says now must not come.
chmod 666 $crond/writable; job evil root >>$crond/writable
refused "a table made world-writable" writable 'INSECURE MODE' evil
# Made elsewhere and then moved: it is never seen before it is bad.
job owned root >/etc/owned; chown alice /etc/owned; mv /etc/owned $crond/owned
refused "a system table of another owner" owned 'WRONG FILE OWNER' owned
job linked root >/home/alice/table; chown -h alice /home/alice/table; ln -s /home/alice/table /etc/linked; chown -h alice /etc/linked; mv /etc/linked $crond/linked
refused "a symbolic link of another owner" linked 'WRONG SYMLINK OWNER' linked
ln -s /nowhere $crond/dangling
refused "a link to nothing" dangling "CAN'T OPEN SYMLINK" dangling
job hard root >/etc/hard2; ln /etc/hard2 $crond/hard
refused "a second hard link" hard 'NUMBER OF HARD LINKS' hard
mkfifo $crond/fifo
refused "a FIFO" fifo 'NOT A REGULAR FILE' fifo
mkdir $crond/directory; ln -s /dev/zero $crond/device
refused "a device" device 'NOT A REGULAR FILE' device
truncate -s 1G $crond/huge
refused "a file of 1 GB" huge 'TOO LARGE\|too large\|16 MiB\|larger' huge
head -c 262144 /dev/urandom >$crond/noise
await 60 "binary noise is refused in the journal, line by line" journal_has '(\*system\*noise) ERROR (.*line 1'
claim "binary noise: the status counts it" status_has '[0-9][0-9] errors'
pulse "binary noise"
job spooled >$spool/alice; chown alice:crontab $spool/alice; chmod 600 $spool/alice
await 60 "a user's table is read" cronring show spooled
chmod 644 $spool/alice; job late >>$spool/alice
refused "a user's table that others may read" alice 'INSECURE MODE' late
job stolen >/home/mallory/table; chown mallory /home/mallory/table; ln -s /home/mallory/table $spool/bob
refused "a symbolic link in the spool" bob "CAN'T OPEN" stolen
mkfifo -m 600 $spool/carol; chown carol:crontab $spool/carol
refused "a FIFO in the spool" carol 'NOT A REGULAR FILE' carol
job orphan >/etc/orphan; chmod 600 /etc/orphan; mv /etc/orphan $spool/nobody-here
refused "a table without an account" nobody-here 'ORPHAN' orphan
claim "nothing refused has run, but before it was refused" sh -c '! ls /lab/out/ran.owned /lab/out/ran.linked /lab/out/ran.hard /lab/out/ran.stolen /lab/out/ran.orphan 2>/dev/null'

job half root >$crond/half; await 60 "a good version is read" cronring show half
printf '* * * * * root true\n61 * * * * root broken\n' >>$crond/half
await 60 "a bad line is named with its line" journal_has '(\*system\*half) ERROR (.*line 4'
claim "and the good ones of the file stay" cronring show half
claim "a changed table is told in the words of log watchers" journal_has '(\*system\*half) RELOAD (/etc/cron.d/half)'
chmod 600 $crond/writable; await 60 "a mended table is read again" cronring show writable
rm $crond/busy; await 60 "a removed table is gone" sh -c '! timeout 60 cronring show final'
mkdir -p /etc/cron.d.new && mv $crond /etc/cron.d.old && await 60 "the directory vanishes, its jobs end" sh -c '! timeout 60 cronring show pulse'
mv /etc/cron.d.old $crond; await 60 "the directory appears again" cronring show pulse
pulse "the directory came back"
cronring status >out/status.txt; said >out/journal.txt
claim "the daemon is the one that it was" same "$(main_pid)" "$before"
claim "each refusal is logged once: $(grep -c "INSECURE MODE.*writable\|writable.*INSECURE" out/journal.txt)" \
	test "$(grep -c "INSECURE MODE.*writable\|writable.*INSECURE" out/journal.txt)" -le 2
finish
