#!/bin/bash
# alice tries to stop or slow down all jobs of the host: see packaging/attacks_test.go.
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
await 60 "root's job runs" test -s out/ticks || finish
claim "all attacks were carried out" /lab/labtool attacks "$@"
cat said
said >out/journal.txt
finish
