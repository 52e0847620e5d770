#!/bin/sh
# Compiles the zones that the tests of package crontab use, in both forms that
# zic writes: slim files end in a rule, fat ones list each change until 2037.
# SOURCE is the tz database's tzdata.zi; the files here are of version 2025b.
set -eu
SOURCE=${1:-/usr/share/zoneinfo/tzdata.zi}
cd "$(dirname "$0")"
ZONES='
Africa/Cairo Africa/Casablanca Africa/Monrovia
America/Caracas America/Havana America/New_York America/Nuuk America/Santiago
America/Sao_Paulo America/Scoresbysund America/St_Johns
Antarctica/Casey Antarctica/Troll
Asia/Almaty Asia/Beirut Asia/Gaza Asia/Kathmandu Asia/Pyongyang Asia/Shanghai Asia/Tehran
Australia/Lord_Howe
Etc/UTC
Europe/Dublin Europe/Istanbul Europe/London Europe/Moscow
Pacific/Apia Pacific/Chatham Pacific/Kiritimati Pacific/Kwajalein
'
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
for FORM in slim fat; do
	zic -b "$FORM" -d "$WORK/$FORM" "$SOURCE"
	rm -rf "$FORM"
	for ZONE in $ZONES; do
		mkdir -p "$FORM/$(dirname "$ZONE")"
		cp "$WORK/$FORM/$ZONE" "$FORM/$ZONE"
	done
done
