#!/usr/bin/env bash
# retry.sh WHAT COMMAND [ARG...] - run a command that downloads something, at most three times.
#
# WHAT completes the sentence "cannot ...": for example "download the Go modules". COMMAND
# must not leave anything incomplete where a later run would use it. A bash script can also
# read this file (`. retry.sh`) and call retry; then COMMAND can be one of its functions, in
# which errexit has no effect, so they join their commands with &&.
#
# The exit status is that of the last attempt. Environment: LAB_RETRY_WAIT: the number of
# seconds before the second attempt (default 5); before the third it is twice as long.
retry() {
	local what=$1 wait=${LAB_RETRY_WAIT:-5} attempt status
	shift
	for attempt in 1 2 3; do
		"$@" && return
		status=$?
		[ "$attempt" = 3 ] && break
		echo "retry: attempt $attempt to $what failed (status $status); the next one starts in $((attempt * wait)) s" >&2
		sleep $((attempt * wait))
	done
	echo "retry: cannot $what: three attempts failed; the error is above. Check the network and the mirror or proxy, then run the command again: nothing incomplete was kept." >&2
	return "$status"
}
[ "${BASH_SOURCE[0]}" != "$0" ] || retry "$@"
