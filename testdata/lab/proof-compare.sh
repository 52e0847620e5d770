#!/bin/bash
# Lets a cron run for MINUTES whole minutes and leaves what it did in out/.
. /lab/lib.sh
minutes=$1
# One mark more: it says that the last minute is over, and its mails are out.
timeout $(((minutes + 3) * 60)) tail -n +1 -F out/minutes 2>/dev/null | head -n $((minutes + 2)) >seen
claim "saw $((minutes + 2)) minutes begin" same "$(wc -l <seen)" $((minutes + 2))
heard
journalctl --no-pager --utc -o short-iso -t CRON -t cron >out/cron.log
finish
