#!/bin/bash
# alice listens on a socket of her own, where the client of root might look for a daemon.
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
fake=/home/alice/.local/state/cronring/cronring.sock
as alice mkdir -p "${fake%/*}"
as alice /lab/labtool listen "$fake" >heard &
listener=$!
await 60 "alice listens" test -S "$fake"
claim "alice may use a socket of her own" as alice env CRONRING_SOCKET="$fake" timeout 5 cronring status --ping
await 60 "and it is asked" test -s heard
: >heard

# spared WHAT: nothing was sent to alice's socket.
spared() { claim "$1: alice's socket received nothing" same "$(cat heard)" ""; : >heard; }
# deceived WHAT COMMAND...: root's command fails, and sends nothing to alice's socket.
deceived() {
	local what=$1; shift
	refute "$what" timeout 20 "$@"
	spared "$what"
}
deceived "root names the socket of alice" env CRONRING_SOCKET="$fake" cronring list
systemctl stop cronring.socket cronring.service
rm -f /run/cronring/cronring.sock
deceived "root keeps the HOME of alice" env HOME=/home/alice cronring list
deceived "root keeps the state directory of alice" env XDG_STATE_HOME=/home/alice/.local/state cronring list
claim "root installs a crontab without a daemon" env HOME=/home/alice sh -c 'echo "0 0 * * * true" | crontab -'
spared "root installs a crontab with the HOME of alice"
deceived "root runs a job with the HOME of alice" env HOME=/home/alice cronring run secret
ln -s "$fake" /run/cronring/cronring.sock
deceived "the system's socket leads to that of alice" cronring list
kill $listener
finish
