#!/usr/bin/env bash
# hosts.sh CRONRING TREE - the dashboard of several hosts over real ssh: two booted machines with a
# daemon, of which one is killed while it is displayed, and a third with Debian's cron alone.
#
# CRONRING is the client on this host; TREE is what `make install` installs. Prints a line "ok ..." or
# "NOT OK ..." for each statement. Needs root, mmdebstrap, iproute2, tmux, ssh and ssh-keygen. It
# changes nothing on this host but networks of its own, which end with it.
set -euo pipefail
client=$1 tree=$2
boot=$(dirname "$(readlink -f "$0")")/boot-systemd.sh
packages="cron busybox-static openssh-server"
tmp=$(mktemp -d) id=$$
net=10.77.$((id % 200 + 20))
handles=()
clean() {
	tmux -L "hosts$id" kill-server 2>/dev/null || true
	for h in "${handles[@]}"; do "$boot" stop "$h" >/dev/null 2>&1 || true; done
	for n in 2 3 4; do ip netns del "hosts$id-$n" 2>/dev/null || true; done
	ip link del "hb$id" 2>/dev/null || true
	rm -rf "$tmp"
}
trap clean EXIT
trap 'exit 1' TERM INT

"$boot" root --pkgs "$packages" >/dev/null
root=$("$boot" root --pkgs "$packages")
mkdir -p "$tmp/common/root/.ssh" "$tmp/common/etc/ssh/sshd_config.d" "$tmp/bin" "$tmp/home/.config/cronring" "$tmp/client/usr"
echo 'hints = false' >"$tmp/home/.config/cronring/config.toml"
ssh-keygen -q -t ed25519 -N '' -f "$tmp/key"
install -m 600 "$tmp/key.pub" "$tmp/common/root/.ssh/authorized_keys"
chmod 700 "$tmp/common/root/.ssh"
echo "PermitRootLogin prohibit-password" >"$tmp/common/etc/ssh/sshd_config.d/lab.conf"
printf '#!/bin/sh\nexec /usr/bin/ssh -i %s -o UserKnownHostsFile=%s -o StrictHostKeyChecking=no -l root "$@"\n' "$tmp/key" "$tmp/known" >"$tmp/bin/ssh"
chmod +x "$tmp/bin/ssh"
cp -a "$tree/usr/bin" "$tree/usr/sbin" "$tmp/client/usr/"
rm "$tmp/client/usr/bin/crontab" # a link
cp -a "$root/usr/bin/crontab" "$tmp/client/usr/bin/" # the third host keeps that of its own cron

ip link add "hb$id" type bridge
ip addr add "$net.1/24" dev "hb$id"
ip link set "hb$id" up
for n in 2 3 4; do
	ip netns add "hosts$id-$n"
	ip link add "hv$id-$n" type veth peer name eth0 netns "hosts$id-$n"
	ip link set "hv$id-$n" master "hb$id" up
	ip -n "hosts$id-$n" addr add "$net.$n/24" dev eth0
	ip -n "hosts$id-$n" link set eth0 up
	what=$tree
	[ "$n" = 4 ] && what=$tmp/client
	handles+=("$("$boot" boot --pkgs "$packages" --netns "hosts$id-$n" --name "host$n" --copy "$what:/" --copy "$tmp/common:/")")
done
for n in 2 3; do
	"$boot" exec "${handles[n - 2]}" sh -ec '
		printf "#@ name=of-$(hostname)\n0 0 1 1 * root true\n" >/etc/cron.d/lab
		systemctl daemon-reload
		systemctl -q disable --now cron 2>/dev/null
		systemctl -q enable --now cronring.socket cronring.service ssh 2>/dev/null'
done
"$boot" exec "${handles[2]}" sh -ec 'echo "0 0 1 1 * root echo only cron" >/etc/cron.d/lab; systemctl -q start ssh cron'

# shown TEXT: whether the screen shows it within 30 seconds.
shown() {
	local end=$((SECONDS + 30))
	until tmux -L "hosts$id" capture-pane -p -t t | grep -q -- "$1"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}
# claim WHAT TEXT
claim() {
	if shown "$2"; then
		echo "ok      $1"
	else
		echo "NOT OK  $1: the screen does not show $2:"
		tmux -L "hosts$id" capture-pane -p -t t
	fi
}
press() { tmux -L "hosts$id" send-keys -t t "$@"; }

tmux -L "hosts$id" -f /dev/null new-session -d -s t -x 160 -y 48 \
	"env TERM=xterm-256color HOME=$tmp/home PATH=$tmp/bin:$PATH $client top -H $net.2 -H $net.3 -H $net.4"
claim "two hosts have a daemon" "$net.3  *0 "
claim "the third has Debian's cron alone" "$net.4  *0 "
press a
claim "the merged list has a job of the first" "of-host2"
claim "of the second" "of-host3"
claim "and of the third" "$net.4"
kill -KILL "$(cat "${handles[1]}/leader.pid")"
claim "the second is killed while it is shown, and its jobs stay, with their age" "$net.3 !"
claim "it is named" "1 host not reached"
claim "the others are live" "of-host2"
press Escape
claim "the list of hosts has its error" "cannot reach the daemon of $net.3"
press j j Enter
claim "the crontabs of the third open" "no daemon: from the crontabs; cron runs them"
claim "with the commands of its entries" "echo only cron"
