#!/bin/bash
# Two members of a ring, n1 and n2, in one machine. Root's job of the ring is on n2 only.
# alice, a user of n1, names a job like it: what root's job missed is still caught up.
# shellcheck disable=SC2154 # failures is lib.sh's
. /lab/lib.sh
await 60 "the daemon is ready" systemctl is-active cronring || finish
install -d -m 1777 out/jobs
mkdir -p n2/lib n2/spool
cronring ring keygen /etc/cronring/ring.key >/dev/null
# ring N: the configuration of member N, in which alice may have jobs of the ring.
ring() { printf '[ring]\nname = "lab"\nbind = "10.9.0.%d:7946"\nseeds = ["10.9.0.1", "10.9.0.2"]\nkey-file = "/etc/cronring/ring.key"\nusers = ["alice"]\n' "$1"; }
ring 1 >/etc/cronring/cronring.toml
ring 2 >n2/cronring.toml
printf 'MAILTO=""\n#@ name=nightly scope=ring every=10s catchup=once\n* * * * * root echo "$CRONRING_DUE" >>/lab/out/jobs/nightly\n' >n2/nightly
: >n2/pid

ip netns add n2
ip link add to-n2 type veth peer name to-n1 netns n2
ip address add 10.9.0.1/24 dev to-n2; ip link set to-n2 up
ip -n n2 address add 10.9.0.2/24 dev to-n1; ip -n n2 link set to-n1 up; ip -n n2 link set lo up
# second: becomes the daemon of n2, which has crontabs, history and lock of its own.
cat >second <<'S'
#!/bin/sh
set -e
hostname n2
mount -t tmpfs tmpfs /etc/cron.d && install -m 644 /lab/n2/nightly /etc/cron.d/nightly
mount --bind /lab/n2/spool /var/spool/cron/crontabs
mount --bind /lab/n2/lib /var/lib/cronring
mount --bind /lab/n2/cronring.toml /etc/cronring/cronring.toml
touch /run/crond.pid && mount --bind /lab/n2/pid /run/crond.pid
mount -t tmpfs tmpfs /run/cronring
exec /usr/sbin/cronringd --log text
S
chmod 755 second
n2=""
start_n2() { ip netns exec n2 unshare --mount --uts /lab/second >>out/n2.log 2>&1 & n2=$!; }
stop_n2() { kill "$n2"; wait "$n2"; }
joined() { [ "$(cronring ring | grep -c "	up	\| up ")" = 2 ]; }
ran() { grep -qs "$1" out/jobs/nightly; }

systemctl restart cronring
start_n2
await 60 "both members are in the ring" joined
await 60 "root's job runs on n2" test -s out/jobs/nightly

# misses WHAT: n2 is down at the due second of root's job, and catches it up.
misses() {
	local due
	until [ $((EPOCHSECONDS % 10)) = 7 ]; do sleep 0.1; done # until shortly before it is due
	stop_n2
	due=$(date -u -d "@$(((EPOCHSECONDS / 10 + 1) * 10))" +%FT%TZ)
	until [ $((EPOCHSECONDS % 10)) = 1 ]; do sleep 0.1; done
	refute "$1: n2 missed $due" ran "$due"
	start_n2
	await 30 "$1: $due is caught up" ran "$due"
}
misses "without alice"
printf '#@ name=nightly scope=ring sec=*\n* * * * * true\n' | as alice crontab -
await 30 "the crontab of alice is read on n1" as alice cronring show nightly
for trial in 1 2; do misses "with a job of alice of that name, $trial"; done
[ $failures = 0 ] || { cronring ring; cronring why nightly; tail -n 20 out/n2.log; }
stop_n2
finish
