#!/bin/sh
# A host for the examples of the manual pages. $1 is a folder with the file
# commands, of which each line is run; what becomes of line N is in the files
# N.status and N.out there. A line "# PAGE" is where a page begins: the host is then
# as it was. The programs are in the folder $2.
set -eu
dir=$1
ip link set lo up
mount -t tmpfs tmpfs /run
mkdir /run/bin /run/upper /run/work /run/home /run/seed
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work /etc
for place in /var/spool /var/lib /srv /usr/local; do mount -t tmpfs tmpfs $place; done
cp "$2/cronring" "$2/cronringd" /run/bin
ln -s cronring /run/bin/crontab
for stub in apt-get systemctl nano; do printf '#!/bin/sh\n' >/run/bin/$stub; done
printf '#!/bin/sh\nexec "$@"\n' >/run/bin/sudo
printf '#!/bin/sh\ncat\n' >/run/bin/dot
printf '#!/bin/sh\nenv\n' >/run/bin/my-command
chmod 755 /run/bin/*
export PATH=/run/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/home EDITOR=true TZ=UTC LC_ALL=C.UTF-8 CRONRING_JOB=backup
unset CRONRING_SOCKET CRONRING_EDITOR VISUAL TMPDIR NO_COLOR

rm -rf /etc/crontab /etc/cron.* /etc/anacrontab /etc/cronring
mkdir -p /etc/cron.d /etc/cronring /etc/bash_completion.d /run/home/.config/fish/completions /srv/config/cron/cron.d /var/lib/node_exporter
cat >/etc/cronring/cronring.toml <<'END'
[ring]
name = "pages"
bind = "127.0.0.1"

[channel.ops]
type = "command"
command = ["/bin/true"]
END
cat >/run/seed/shop <<'END'
PATH=/run/bin:/usr/bin:/bin
#@ name=backup
30 2 * * *  root  test -e /run/well
#@ name=report labels=team:etl
0 6 * * *   root  true
#@ name=etl-orders labels=team:etl
0 4 * * *   root  true
#@ name=etl-nightly
0 5 * * *   root  true
#@ name=pg-backup
0 3 * * *   root  true
#@ name=tmp-clean
0 1 * * *   root  true
#@ name=geoip-update on-exhausted=dead
0 7 * * 1   root  echo down; false
END
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo "# $n"; done >/etc/crontab
echo '17 * * * *  root  true' >>/etc/crontab
echo '30 2 * * *  true' >/run/seed/my.crontab
echo '0 4 * * *   true' >/run/seed/new.crontab
cp /run/seed/shop /srv/config/cron/cron.d/shop
chmod 755 /etc/cron.d && chmod 644 /etc/crontab

cronringd --log text >"$dir/daemon.log" 2>&1 &
until cronring status >/dev/null 2>&1; do kill -0 $! || { cat "$dir/daemon.log"; exit 1; }; done

cd "$dir"
{
	crontab - </run/seed/new.crontab
	cp /run/seed/shop /etc/cron.d/shop
	cronring reload
	cronring run backup --wait || :
	touch /run/well
	cronring run backup --wait
} >begin.log 2>&1

# begin makes the host what it was: its tables, and a dead letter.
begin() {
	cp /run/seed/*.crontab .
	cmp -s /run/seed/shop /etc/cron.d/shop || cp /run/seed/shop /etc/cron.d/shop
	crontab - </run/seed/my.crontab
	cronring reload
	dead=$(cronring dead list geoip-update -o name | head -n 1)
	if [ -z "$dead" ]; then
		cronring run geoip-update --wait || :
		dead=$(cronring dead list geoip-update -o name | head -n 1)
	fi
	revision=$(cronring undo list -o plain --no-header | head -n 1 | cut -f 1)
} >>begin.log 2>&1

n=0
while IFS= read -r line; do
	n=$((n + 1))
	case $line in
	"# "*) begin; continue ;;
	*4213*) line=$(echo "$line" | sed "s/4213/$dead/") ;;
	*" 32"*) line=$(echo "$line" | sed "s/ 32/ $revision/") ;;
	esac
	status=0
	timeout 60 sh -c "$line" >$n.out 2>&1 </dev/null || status=$?
	echo $status >$n.status
done <commands
