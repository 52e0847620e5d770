#!/bin/bash
# mallory tries what she can think of. Each attempt is one claim.
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
cronring run secret private --wait >/dev/null
mkdir -m 777 trial; cd trial || exit 1
before=$(main_pid)
# A refusal is worth nothing if there was nobody to ask.
absent='does not answer|no such socket|no such command|not found'
# m COMMAND: as mallory. try WHAT COMMAND: it fails for her, and shows nothing secret.
m() { (cd /tmp && as mallory timeout 90 sh -c "$1"); }
try() {
	local what=$1 said status; shift
	said=$(m "$*" 2>&1 </dev/null); status=$?
	if [ $status -ne 0 ] && ! grep -qE "SECRET|root:[*\$!x]|$absent" <<<"$said"; then ok "$what"; else no "$what: status $status: $(head -c 300 <<<"$said" | tr '\n' '|')"; fi
}
# blind WHAT COMMAND: it may succeed, but shows nothing secret.
blind() {
	local what=$1 said; shift
	said=$(m "$*" 2>&1 </dev/null)
	if grep -qE "SECRET|secret|private|$absent" <<<"$said"; then no "$what: $(grep -E "SECRET|secret|private|$absent" <<<"$said" | head -c 300)"; else ok "$what"; fi
}

# clean WHAT COMMAND...: root's command works and prints no escape sequence.
clean() {
	local what=$1 said; shift
	if ! said=$(timeout 60 "$@" 2>&1); then no "$what: $* said: $(head -c 300 <<<"$said")"
	elif grep -q "$(printf '\033')" <<<"$said"; then no "$what: $(grep "$(printf '\033')" <<<"$said" | head -c 300 | cat -v)"
	else ok "$what"; fi
}

for job in secret private; do
	claim "root sees $job" sh -c "timeout 60 cronring logs $job | grep SECRET"
done
for job in secret private; do
	for verb in show history logs why run stop pause resume "report events --once"; do
		case $verb in
		history | "report events --once") blind "$verb $job" "timeout 3 cronring ${verb% *} $job 2>&1 | sed 's/.$job.//g; s/$job//g'" ;;
		*) try "$verb $job" "cronring $verb $job" ;;
		esac
	done
done
run=$(cronring history secret -o jsonl -n 1 | grep -o '"id":"*[0-9]*' | grep -o '[0-9]*$' | head -1)
claim "there is a run to be curious about" test -n "$run"
try "the output of a run by its number" "cronring logs $run"
try "stopping a run by its number" "cronring stop $run"
blind "list" "cronring list -o json"
blind "list of root's" "cronring list --user root"
blind "status" "cronring status -o json"
blind "everything that ever ran" "cronring history -o jsonl -n 100000"
blind "what was skipped" "cronring history --skipped"
n=$(wc -l </lab/out/secret); m "cronring run '*'; cronring run 'secre?'; cronring run --force secret" >/dev/null 2>&1
claim "nothing of root's ran for her" same "$(wc -l </lab/out/secret)" "$n"
try "reload" "cronring reload"
try "another's crontab" "crontab -u alice -l"
try "editing another's crontab" "echo '* * * * * id' | crontab -u alice -"
try "removing another's crontab" "crontab -u alice -r"
try "root's crontab" "crontab -u root -l"
try "a name with a path" "crontab -u ../../etc/shadow -l"
try "a file that she cannot read" "crontab /etc/shadow"
m 'ln -sf /etc/shadow /tmp/sl; printf "#!/bin/sh\nrm -f \$1; ln -s /etc/shadow \$1\n" >/tmp/ed; chmod 755 /tmp/ed'
m "EDITOR=/tmp/ed crontab -e" >edited 2>&1
refute "an editor that leaves a link to /etc/shadow" grep -q 'root:' edited /var/spool/cron/crontabs/mallory
try "a crontab without end" "head -c 40000000 /dev/zero | tr '\0' '#' | crontab -"

for path in /var/spool/cron/crontabs/alice /var/spool/cron/crontabs/root /etc/cron.d/evil /run/cronring/evil /run/cronring/runs/evil /var/lib/cronring/evil /run/crond.pid /run/crond.reboot; do
	try "writing $path" "echo '* * * * * root id' >$path"
	try "linking $path" "ln -s /etc/shadow $path"
done
for path in /var/spool/cron/crontabs /var/lib/cronring /run/cronring/runs; do try "listing $path" "ls $path"; done
try "reading the history" "cat /var/lib/cronring/cronring.db"
try "replacing the socket" "rm -f /run/cronring/cronring.sock"
claim "no program of ours is set-id" same "$(find /usr/bin/cronring /usr/sbin/cronringd -perm /6000)" ""

# She hears of runs of her own before and after one that is not hers.
m "printf '#@ name=hers\n0 0 29 2 * true\n' | crontab -"
await 60 "a plain table of hers is read" cronring show hers
m 'echo $$ >/tmp/events.pid; exec cronring report events -o jsonl' >events 2>&1 &
hears() { local n; n=$(grep -c hers events); m "cronring run hers --wait" >/dev/null; test "$(grep -c hers events)" -gt "$n"; }
await 60 "she hears of her own run" hears
cronring run secret --wait >/dev/null
await 60 "and of another one" hears
refute "but not of root's in between" grep -E 'SECRET|secret' events
kill "$(cat /tmp/events.pid)"; wait $!

# Her own table, with everything in its environment that once tricked a cron.
cat >table <<'T'
LD_PRELOAD=/tmp/evil.so
LD_LIBRARY_PATH=/tmp
BASH_ENV=/tmp/evil
ENV=/tmp/evil
IFS=/
PATH=/tmp/evilbin:/usr/bin:/bin
HOME=/root
LOGNAME=root
USER=root
CRONRING_SOCKET=/tmp/fake.sock
CRONRING_JOB=secret
NOTIFY_SOCKET=/run/systemd/notify
LISTEN_FDS=99
#@ name=who
* * * * * /usr/bin/id -u; /usr/bin/id -G; pwd; grep -E 'CapEff|Groups' /proc/self/status; ls -l /proc/self/fd; echo "$LOGNAME $USER $CRONRING_JOB"
SHELL=/tmp/suid
#@ name=suid
* * * * * id
SHELL=/bin/sh
HOME=/home/mallory
MAILTO=-oQ/tmp -X/tmp/pwned
#@ name=mail1
* * * * * echo x
MAILTO=-C/tmp/evil.cf
#@ name=mail2
* * * * * echo x
MAILTO="root;touch /tmp/pwned"
#@ name=mail3
* * * * * echo x
MAILTO=`touch${IFS}/tmp/pwned`
#@ name=mail4
* * * * * echo x
MAILTO=|/tmp/evil
#@ name=mail5
* * * * * echo x
MAILTO=mallory
MAILFROM=root -X/tmp/pwned
#@ name=mail6
* * * * * echo x
MAILFROM=mallory
#@ name=mail7
* * * * * printf 'x\n.\nMAIL FROM: root\n'; : subject	with tabs %To: root%Bcc: root
#@ name=journal
* * * * * printf 'a\nMESSAGE=forged\nCRONRING_JOB=secret\nPRIORITY=0\n_UID=0\n\0\033]0;title\007\033[2J\rforged\n'; : cr
T
m 'mkdir -p /tmp/evilbin; for p in sendmail getent id run-parts logger sh; do printf "#!/bin/sh\n/usr/bin/id -u >>/tmp/pwned.by\n" >/tmp/evilbin/$p; chmod 755 /tmp/evilbin/$p; done
	printf "/usr/bin/id -u >>/tmp/pwned.by\n" >/tmp/evil; cp /bin/sh /tmp/suid; chmod 6755 /tmp/suid'
claim "her own table is installed" m "crontab $PWD/table"
await 60 "and read" cronring show who
for job in who suid mail1 mail2 mail3 mail4 mail5 mail6 mail7 journal; do m "timeout 60 cronring run $job --wait" >"said.$job" 2>&1; done
cronring logs who --raw --stream out >who.out 2>&1; sed 's/^/  | /' who.out
claim "her job has her id and no other group" same "$(head -2 who.out | tr '\n' ' ')" "2004 2004 "
claim "and no capability" grep -q 'CapEff:.*0000000000000000' who.out
refute "it has no descriptor of the daemon's" grep -E 'cronring.db|socket:|eventpoll|cronring.sock' who.out
claim "LOGNAME, USER and the job's name are the daemon's word" grep -qx 'mallory mallory mallory/who' who.out
refute "HOME=/root does not lead there" grep -x /root who.out
refute "nothing of hers ran as root" grep -x 0 /tmp/pwned.by
refute "no mail command was tricked" ls /tmp/pwned
await 60 "her mail arrives" sh -c "grep -lx 'Lab-Uid: 2004' /lab/out/mail/*"
refute "her environment is not the daemon's" grep -qz 'LD_PRELOAD\|BASH_ENV' "/proc/$(main_pid)/environ"
refute "no unsafe recipient reached the mailer" grep -rhE '^Lab-Arg: (-oQ|-C|-X|.*[;`|])' /lab/out/mail
refute "the mailer ran as root for nobody but root" sh -c "grep -l '^Lab-Uid: 0' /lab/out/mail/* | xargs -r grep -l mallory@"
refute "a body adds no header" sh -c "sed '/^$/q' /lab/out/mail/* | grep -iE '^(Bcc|MAIL FROM)'"
await 60 "unsafe recipients are told" sh -c "journalctl --no-pager -o cat | grep -q UNSAFE"
heard
refute "output forges no message" sh -c "journalctl -o json --no-pager | grep -q '\"MESSAGE\":\"forged\"'"
refute "and no field" sh -c "journalctl -o json --no-pager CRONRING_JOB=secret | grep -q forged"
refute "nor a priority" sh -c "journalctl -p 0 --no-pager -o cat | grep -E 'forged|^a$'"
for command in "logs journal" list status "history journal" "show journal" "why journal"; do
	# shellcheck disable=SC2086 # words
	clean "no escape sequence leaves 'cronring $command'" cronring $command
done
claim "the output is there to be cleaned" sh -c "timeout 60 cronring logs journal --raw | grep -q forged"

# Names that are not names.
printf '#@ name=a\033]0;x\007b\n* * * * * echo 1\n#@ name=../../etc/x\n* * * * * echo 2\n#@ name="a\\nb"\n* * * * * echo 3\n#@ name=secret\n* * * * * echo 4 # not root'"'"'s\n#@ name=%%s%%n\n* * * * * echo 5\n' >names
m "crontab $PWD/names" >said 2>&1; head -5 said | cat -v
install -m 600 -o mallory -g crontab names /var/spool/cron/crontabs/mallory # as if crontab(1) had let it pass
await 60 "the table of odd names is read" sh -c "! timeout 60 cronring show who"
for command in list status "history -o plain"; do
	# shellcheck disable=SC2086 # words
	clean "odd names: no escape sequence leaves 'cronring $command'" cronring $command
done
refute "nor 'cronring lint'" sh -c 'cronring lint /var/spool/cron/crontabs/mallory 2>&1 | grep "$(printf "\033")"'
cronring list -o json >names.json
claim "root's job keeps its name" sh -c "timeout 60 cronring show secret | grep -q root"
n=$(wc -l </lab/out/secret); m "cronring run secret" >/dev/null 2>&1
claim "her job of the same name is not root's" same "$(wc -l </lab/out/secret)" "$n"
refute "a name is no path" ls /etc/x /var/lib/cronring/../../etc/x

printf 'mallory\n' >/etc/cron.deny
try "crontab(1) when cron.deny names her" "crontab -l"
try "installing then" "echo '* * * * * id' | crontab -"
printf 'alice\n' >/etc/cron.allow; rm /etc/cron.deny
try "crontab(1) when cron.allow does not" "crontab -r"
rm /etc/cron.allow

as mallory /lab/labtool attack
claim "after all requests it answers" cronring status
claim "and it is the same process" same "$(main_pid)" "$before"
await 60 "which holds no crowd of connections" sh -c "test \$(find /proc/$before/fd -lname 'socket:*' | wc -l) -lt 20"
said >/lab/out/journal.txt
finish
