# shellcheck shell=bash
# What the proofs share. They run inside a booted machine, as root, in /lab.
# Each line "ok" or "NOT OK" is one claim; the Go test beside it counts them.
cd /lab || exit 1
mkdir -p out
failures=0
ok() { echo "ok      $*"; }
no() { echo "NOT OK  $*"; failures=$((failures + 1)); }
finish() { exit $((failures > 0)); }

# claim WHAT COMMAND...: the command succeeds. refute: it fails.
claim() {
	local what=$1; shift
	if "$@" >said 2>&1; then ok "$what"; else no "$what; $* said: $(tail -n 4 said | tr '\n' '|')"; fi
}
refute() {
	local what=$1; shift
	if "$@" >said 2>&1; then no "$what; $* said: $(tail -n 4 said | tr '\n' '|')"; else ok "$what"; fi
}

# await SECONDS WHAT COMMAND...: the command succeeds, at the latest after SECONDS.
await() {
	local end=$((SECONDS + $1)) what=$2; shift 2
	until "$@" >said 2>&1; do
		if [ $SECONDS -gt $end ]; then
			no "$what; for long $* said: $(tail -n 4 said | tr '\n' '|')"
			return 1
		fi
		sleep 0.05 # a poll: there is no event for it that a shell could wait for
	done
	ok "$what"
}

# A socket whose daemon does not come up never answers.
cronring() { timeout 60 /usr/bin/cronring "$@"; }
# heard: all that was said until now is in the journal. journald reads what it
# was sent in its own time, so whoever looks once looks after this.
heard() { journalctl --sync; }
has() { grep -qs -- "$@"; }
same() { [ "$1" = "$2" ] || { echo "got '$1', want '$2'"; return 1; }; }
main_pid() { systemctl show -P MainPID cronring; }
said() { heard; journalctl -u cronring --no-pager -o cat "$@"; }
journal_has() { journalctl --no-pager -o cat -u cronring | grep -q -- "$@"; }
status_has() { cronring status | tee out/status.txt | grep -q -- "$@"; }
# in_force NAME VALUE: the daemon goes by that setting.
in_force() { cronring config show -o plain | has "^$1	$2	"; }
as() { local who=$1; shift; setpriv --reuid="$who" --regid="$who" --init-groups --reset-env -- "$@"; }
