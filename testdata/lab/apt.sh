#!/bin/sh
# apt.sh PACKAGE...: lets apt in a machine without a network install from the
# folder /lab/debs and nowhere else, and installs those; what another cron left is
# purged. It runs before the machine's services start.
set -eu
export DEBIAN_FRONTEND=noninteractive
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/lab/debs ./' >/etc/apt/sources.list
apt-get -qq update
apt-get -qq -y --no-install-recommends install "$@" >/lab/apt.log 2>&1
apt-get -qq -y purge '~c' >>/lab/apt.log 2>&1
