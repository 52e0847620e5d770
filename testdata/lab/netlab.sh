#!/usr/bin/env bash
# netlab.sh - a small network of namespaces whose links can be cut, made lossy or slow.
#
#   netlab.sh up N               N machines (network namespaces) on one bridge
#   netlab.sh exec I COMMAND...  run a command on machine I (1..N)
#   netlab.sh addr I             its IPv4 address
#   netlab.sh ns I               its namespace's name (for boot-systemd.sh --netns)
#   netlab.sh cut A B            drop all packets between A and B. A and B are machines or
#                                comma lists: `cut 1,2 3,4,5` splits the cluster in two
#   netlab.sh cut-way A B        drop only those from A to B (one-way failure)
#   netlab.sh loss A B PERCENT   drop that share at random, both ways
#   netlab.sh mute A PROTO PORT  drop what is sent to that port of A (PROTO: udp or tcp)
#   netlab.sh rate A KBIT        what A sends is shaped to that rate (queueing delay follows)
#   netlab.sh link A down|up     pull or plug A's cable
#   netlab.sh heal               remove every cut, loss, mute and rate; plug every cable
#   netlab.sh status             rules in force, with how many packets each dropped
#   netlab.sh down               remove everything
#
# LAB_NET names the lab (default lab), so that several may stand side by side: at most
# 8 characters. Needs root, iproute2, nft. Nothing is changed outside the lab's own
# namespaces: the bridge and its filter live in a namespace of their own, NAME-hub. The
# kernel needs bridge, veth and nf_tables' bridge family, not netem; for a fixed delay
# without netem use NFQUEUE.
set -euo pipefail
NET=${LAB_NET:-lab}
HUB=$NET-hub
[ ${#NET} -le 8 ] || { echo "netlab: LAB_NET: at most 8 characters" >&2; exit 2; }
die() { echo "netlab: $*" >&2; exit 2; }
hub() { ip netns exec "$HUB" "$@"; }
count() { ip netns list | awk -v p="$NET-" 'index($1, p) == 1 && substr($1, length(p) + 1) ~ /^[0-9]+$/' | wc -l; }
# set_of 1,3 -> { "p1", "p3" }
set_of() {
	local i out=""
	for i in ${1//,/ }; do
		ip netns list | grep -q "^$NET-$i\b" || die "no machine $i"
		out+="${out:+, }\"p$i\""
	done
	echo "{ $out }"
}
drop() { # drop FROM TO [match...]: add one rule for one direction
	local from to; from=$(set_of "$1"); to=$(set_of "$2"); shift 2
	hub nft "add rule bridge lab forward iifname $from oifname $to $* counter drop"
}

up() {
	local n=$1 i
	ip netns list | grep -q "^$HUB\b" && die "already up (netlab.sh down first)"
	ip netns add "$HUB"
	hub ip link set lo up
	hub ip link add br0 type bridge
	hub ip link set br0 up
	for i in $(seq "$n"); do
		ip netns add "$NET-$i"
		# the pair is born inside the namespaces, so the host never sees it
		hub ip link add "p$i" type veth peer name eth0 netns "$NET-$i"
		hub ip link set "p$i" master br0 up
		ip -n "$NET-$i" link set lo up
		ip -n "$NET-$i" addr add "10.77.0.$i/24" dev eth0
		ip -n "$NET-$i" addr add "fd77::$i/64" dev eth0 nodad
		ip -n "$NET-$i" link set eth0 up
	done
	hub nft -f - <<-N
		table bridge lab {
			chain forward { type filter hook forward priority 0; policy accept; }
		}
	N
}

down() {
	local ns
	for ns in $(ip netns list | awk -v p="$NET-" 'index($1, p) == 1 { print $1 }'); do
		local left; left=$(ip netns pids "$ns" | tr '\n' ' ')
		[ -n "$left" ] && echo "netlab: $ns still has processes: $left" >&2
		ip netns del "$ns"
	done
}

heal() {
	local i
	hub nft flush chain bridge lab forward
	for i in $(seq "$(count)"); do
		hub ip link set "p$i" up
		ip netns exec "$NET-$i" tc qdisc del dev eth0 root 2>/dev/null || true
	done
}

[ $# -ge 1 ] || { sed -n '2,/^set -euo/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 2; }
cmd=$1; shift
case $cmd in
up) up "$1" ;;
down) down ;;
exec) i=$1; shift; exec ip netns exec "$NET-$i" "$@" ;;
addr) echo "10.77.0.$1" ;;
ns) echo "$NET-$1" ;;
cut) drop "$1" "$2"; drop "$2" "$1" ;;
cut-way) drop "$1" "$2" ;;
loss) drop "$1" "$2" "numgen random mod 100 < $3"; drop "$2" "$1" "numgen random mod 100 < $3" ;;
mute) hub nft "add rule bridge lab forward oifname $(set_of "$1") $2 dport $3 counter drop" ;;
rate) ip netns exec "$NET-$1" tc qdisc replace dev eth0 root tbf rate "$2kbit" burst 4kb latency 2s ;;
link) hub ip link set "p$1" "$2" ;;
heal) heal ;;
status) hub nft list chain bridge lab forward | grep -E 'counter' || echo "no faults" ;;
*) die "unknown command $cmd" ;;
esac
