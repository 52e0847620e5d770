#!/usr/bin/env bash
# boot-systemd.sh - boot a real systemd on a machine whose own PID 1 is not systemd.
#
#   boot-systemd.sh run  [options] -- SCRIPT [ARG...]   boot, run SCRIPT inside, shut down;
#                                                       exit status is SCRIPT's
#   boot-systemd.sh boot [options]                      boot and leave running; prints the handle
#   boot-systemd.sh exec HANDLE COMMAND [ARG...]        run a command inside, as a transient unit
#                                                       (stdin, stdout, stderr, status passed on)
#   boot-systemd.sh stop HANDLE                         shut down and clean up
#   boot-systemd.sh root [options]                      only build the cached root; prints its path
#
# Options
#   --engine ns|qemu    ns: namespaces on this kernel, ready in half a second (default).
#                       qemu: Debian's kernel in a software-emulated machine, ready in about ten seconds;
#                       there the clock may be set and cgroup v2 has every controller.
#                       (qemu: only `run` and `root`)
#   --suite NAME        Debian suite of the root                     (default bookworm)
#   --pkgs "A B ..."    packages to add to the root (each set is its own cached root)
#   --copy SRC:DST      copy a file or folder into the machine before boot (repeatable); a
#                       folder is laid over one that is there
#   --setup             run /lab/setup (which a --copy brought) before the machine's own
#                       services: in the root before boot; qemu: just before SCRIPT
#   --out DIR           run: copy what the script leaves in /lab/out to DIR afterwards
#   --netns NAME        ns: join this network namespace instead of a fresh one
#   --name NAME         host name inside                              (default lab)
#   --mem MIB           qemu: memory                                  (default 1024)
#   --kernel-args WORDS qemu: more words for the kernel's command line
#   -v                  say what takes how long
#
# Environment: LAB_CACHE (default ~/.cache/lab): cached roots. LAB_SOURCES: an apt
# sources file for the root (default: this machine's own). LAB_RETRY_WAIT: see retry.sh. Needs root, mmdebstrap, and for
# qemu qemu-system-x86, qemu-utils, e2fsprogs (apt).
#
# A run may be ended from outside (`timeout 60 boot-systemd.sh run ...`): it cleans up.
# A script killed by a signal gives 255.
#
# How `ns` works. The cached root is the lower layer of an overlay whose upper layer is a
# tmpfs, so each boot is pristine and leaves nothing behind. systemd becomes PID 1 of new
# PID, mount, UTS, IPC, network and cgroup namespaces. Below the caller's own cgroup one
# child is made in every mounted hierarchy; inside, the same hierarchies are mounted
# writable, so MemoryMax=, CPUQuota= and TasksMax= are enforced where the host has
# cgroup v1 or hybrid (on a pure v2 host: untested; the caller's cgroup must be delegated).
# systemd-nspawn mounts v1 controllers read-only, so there the limits are accepted and
# ignored. CAP_SYS_TIME is dropped: the clock is the host's.
set -euo pipefail
shopt -s inherit_errexit # also in $(...): a root that could not be made must not be used

ENGINE=ns SUITE=bookworm PKGS="" NETNS="" NAME=lab MEM=1024 KARGS="" VERBOSE=0 SETUP=0
COPIES=() OUTDIR="" HANDLE=""
CACHE=${LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lab}
BASE_PKGS="systemd systemd-sysv dbus libpam-systemd procps iproute2 tzdata"
QEMU_PKGS="linux-image-cloud-amd64 initramfs-tools"
SELF=$(readlink -f "${BASH_SOURCE[0]}")
T0=$(date +%s%N)
. "${SELF%/*}/retry.sh"

die() { echo "boot-systemd: $*" >&2; exit 2; }
say() { [ "$VERBOSE" = 1 ] && printf '[%6d ms] %s\n' $((($(date +%s%N) - T0) / 1000000)) "$*" >&2; return 0; }
need() { command -v "$1" >/dev/null || die "needs $1 (apt package $2)"; }

# ---------------------------------------------------------------- the cached root
# sources: the apt sources for the root, on standard output: this machine's, with its
# release's name replaced by the one asked for.
sources() {
	local f here
	[ -n "${LAB_SOURCES:-}" ] && { cat "$LAB_SOURCES"; return; }
	here=$(. /etc/os-release; echo "${VERSION_CODENAME:-none}")
	for f in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
		[ -s "$f" ] && { sed "s/\b$here\b/$SUITE/g" "$f"; return; }
	done
	die "no apt sources found; set LAB_SOURCES"
}

# make_root prints the path of a root folder (ns), or of the folder with the disk image,
# kernel and initrd (qemu). Each package set is built once, under a lock, in a folder of
# another name, which gets its own name when it is complete.
make_root() (
	pkgs="$BASE_PKGS $PKGS"
	[ "$ENGINE" = qemu ] && pkgs="$pkgs $QEMU_PKGS"
	# shellcheck disable=SC2086  # the package list is split on purpose, here and below
	key=$(printf '%s\n' "v7 $ENGINE $SUITE" $pkgs | sort -u | sha256sum | cut -c1-12)
	dir=$CACHE/$ENGINE-$SUITE-$key
	[ -d "$dir" ] && { echo "$dir"; return; }
	need mmdebstrap mmdebstrap; need unshare util-linux; need setpriv util-linux
	mkdir -p "$CACHE"
	exec 8>"$dir.lock"
	flock 8
	if [ ! -d "$dir" ]; then
		tmp=$dir.new
		trap 'rm -rf "$tmp"' EXIT
		rm -rf "$tmp"; mkdir "$tmp" # a killed run leaves one
		sources >"$tmp/lab.list"
		grep -q '^Types:' "$tmp/lab.list" && mv "$tmp/lab.list" "$tmp/lab.sources"
		exec 7>"$CACHE/mirror.lock"
		flock 7 # many at once made downloads fail, and are no faster
		retry "make a root of $SUITE from its packages" bootstrap
		exec 7>&-
		rm "$tmp"/lab.*
		if [ "$ENGINE" = qemu ]; then
			qemu_image "$tmp"
			mv "$tmp" "$dir"
		else
			mv "$tmp/root" "$dir"
		fi
	fi
	echo "$dir"
)

# bootstrap makes $tmp/root. It has mounts and processes of its own, which end with this script,
# however that ends: the next run must neither meet them nor wait for them. apt gives up on a mirror
# that sends nothing for a minute; the limit of the whole is for what apt does not notice, and far
# more than a slow machine with other work needs. Many tests wait for a root, so it goes before
# other work where that is permitted: Linux divides the processor by session first.
bootstrap() {
	rm -rf "$tmp/root"
	# shellcheck disable=SC2016,SC2086
	setpriv --pdeathsig KILL setsid sh -c '{ echo -10 >/proc/self/autogroup; } 2>/dev/null; exec "$@"' - nice -n -10 timeout --signal=KILL 1200 setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc mmdebstrap --quiet --mode=root --variant=minbase \
		--include="$(echo $pkgs | tr -s ' ' ,)" \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt=force-unsafe-io --aptopt='Acquire::http::Timeout "60"' \
		--customize-hook='rm -f "$1"/etc/machine-id "$1"/etc/resolv.conf "$1"/etc/hostname; : >"$1"/etc/machine-id' \
		--customize-hook='for u in getty.target console-getty.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer; do ln -sf /dev/null "$1"/etc/systemd/system/$u; done' \
		--customize-hook='ln -sf /lib/systemd/system/multi-user.target "$1"/etc/systemd/system/default.target' \
		"$SUITE" "$tmp/root" "$tmp"/lab.* >&2
}

# ---------------------------------------------------------------- engine ns
# The hierarchies to hand in: "<host mount point> <kind>"; kind is cgroup2 or the v1
# controller (name=systemd for systemd's own). cpuset is left out: a v1 cpuset needs
# filling in by hand before it takes a process, and systemd does not drive it on v1.
hierarchies() {
	awk '$3 == "cgroup2" { print $2, "cgroup2" }
	     $3 == "cgroup" { n = split($4, o, ","); k = ""
	       for (i = 1; i <= n; i++) if (o[i] !~ /^(rw|ro|relatime|nosuid|nodev|noexec|xattr|clone_children|release_agent.*)$/) k = k (k ? "," : "") o[i]
	       if (k != "cpuset") print $2, k }' /proc/self/mounts | sort -u -k2,2
}

# own_cgroup KIND: the caller's path in that hierarchy.
own_cgroup() {
	awk -F: -v k="$1" '(k == "cgroup2" && $1 == 0) || (k != "cgroup2" && $2 == k) { sub(/^[^:]*:[^:]*:/, ""); print; exit }' /proc/self/cgroup
}

ns_boot() { # prints the handle: the state folder
	local root st c
	for c in "${COPIES[@]}"; do [ -e "${c%%:*}" ] || die "--copy: no ${c%%:*}"; done
	[ -z "$NETNS" ] || [ -e "/run/netns/$NETNS" ] || die "no network namespace $NETNS"
	[ "$(id -u)" = 0 ] || die "must be root"
	need nsenter util-linux; need unshare util-linux
	root=$(make_root)
	say "root ready: $root"
	st=$(mktemp -d "${TMPDIR:-/tmp}/lab-XXXXXX")
	HANDLE=$st
	mkdir "$st/m"
	hierarchies | while read -r mnt kind; do
		local own=; own=$(own_cgroup "$kind"); [ -n "$own" ] || continue
		local cg=$mnt${own%/}/${st##*/}
		mkdir -p "$cg" && echo "$cg $kind" >>"$st/cgroups"
	done
	# a session of its own, so that a signal to the caller's group does not reach systemd;
	# but `run`'s machine dies with its script, however that ends
	local start=(setsid)
	[ "$CMD" = run ] && start+=(setpriv --pdeathsig KILL)
	[ -n "$NETNS" ] && start+=(nsenter "--net=/run/netns/$NETNS")
	start+=(unshare --kill-child)
	[ -n "$NETNS" ] || start+=(--net)
	(
		# join the new cgroups first: what unshare --cgroup sees becomes "/" inside
		while read -r cg _; do echo $BASHPID >"$cg/cgroup.procs"; done <"$st/cgroups"
		exec "${start[@]}" --mount --uts --ipc --pid --cgroup --fork --propagation private \
			"$SELF" _init "$st" "$root" "$NAME" "$SETUP" "${COPIES[@]}"
	) </dev/null >"$st/console" 2>&1 &
	local un=$! leader=""
	echo $un >"$st/unshare.pid"
	for _ in $(seq 500); do
		leader=$(ps -o pid= --ppid $un | tr -d ' ' || true)
		[ -n "$leader" ] && [ "$(cat "/proc/$leader/comm" 2>/dev/null)" = systemd ] && break
		kill -0 $un 2>/dev/null || { cat "$st/console" >&2; ns_stop "$st"; die "init died"; }
		sleep 0.02
	done
	echo "$leader" >"$st/leader.pid"
	say "systemd runs (pid $leader)"
	for _ in $(seq 600); do
		ns_enter "$st" systemctl is-system-running --wait >"$st/state" 2>/dev/null || true
		case $(cat "$st/state") in running|degraded) break ;; esac
		kill -0 "$leader" 2>/dev/null || { cat "$st/console" >&2; ns_stop "$st"; die "systemd died"; }
		sleep 0.05
	done
	say "state inside: $(cat "$st/state")"
}

# PID 1 of the new namespaces: lay out the file system, then become systemd.
ns_init() {
	local st=$1 root=$2 name=$3 setup=$4 m=$1/m c; shift 4
	mount -t tmpfs -o mode=0755 lab "$st/m"
	mkdir "$m/u" "$m/w" "$m/r"
	mount -t overlay -o "lowerdir=$root,upperdir=$m/u,workdir=$m/w" overlay "$m/r"
	m=$m/r
	for c in "$@"; do mkdir -p "$(dirname "$m${c#*:}")"; cp -aT --remove-destination "${c%%:*}" "$m${c#*:}"; done
	echo "$name" >"$m/etc/hostname"; hostname "$name"
	printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >"$m/etc/hosts"
	# /proc: sysctls are read-only but for the network's, which are this namespace's own
	mount -t proc -o nosuid,nodev,noexec proc "$m/proc"
	mount --bind "$m/proc/sys/net" "$m/proc/sys/net"
	mount --bind "$m/proc/sys" "$m/proc/sys"; mount -o remount,bind,ro "$m/proc/sys"
	if [ -e "$m/proc/sysrq-trigger" ]; then
		mount --bind "$m/proc/sysrq-trigger" "$m/proc/sysrq-trigger"
		mount -o remount,bind,ro "$m/proc/sysrq-trigger"
	fi
	# /sys read-only, as in any container: keeps udev away from the host's devices
	mount -t sysfs -o nosuid,nodev,noexec,ro sysfs "$m/sys"
	if [ "$(wc -l <"$st/cgroups")" = 1 ] && grep -q ' cgroup2$' "$st/cgroups"; then
		mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$m/sys/fs/cgroup"
	else
		mount -t tmpfs -o mode=0755,nosuid,nodev,noexec cgroup "$m/sys/fs/cgroup"
		while read -r cg kind; do
			local d=$kind o=$kind
			case $kind in
			cgroup2) mkdir "$m/sys/fs/cgroup/unified"
				mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$m/sys/fs/cgroup/unified"; continue ;;
			name=*) d=${kind#name=} o=none,$kind ;;
			esac
			mkdir "$m/sys/fs/cgroup/$d"
			mount -t cgroup -o "nosuid,nodev,noexec,$o" cgroup "$m/sys/fs/cgroup/$d"
		done <"$st/cgroups"
		# read-only, so that systemd does not mount further v1 controllers on the host's kernel
		mount -o remount,ro "$m/sys/fs/cgroup"
	fi
	# a small /dev with its own ptys
	mount -t tmpfs -o mode=0755,nosuid tmpfs "$m/dev"
	local d
	# shellcheck disable=SC2086
	for d in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
		set -- $d
		mknod -m 666 "$m/dev/$1" c "$2" "$3"
	done
	mkdir "$m/dev/pts" "$m/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$m/dev/pts"
	mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$m/dev/shm"
	ln -s pts/ptmx "$m/dev/ptmx"; ln -s /proc/self/fd "$m/dev/fd"
	ln -s /proc/self/fd/0 "$m/dev/stdin"; ln -s /proc/self/fd/1 "$m/dev/stdout"; ln -s /proc/self/fd/2 "$m/dev/stderr"
	ip link set lo up 2>/dev/null || true
	if [ "$setup" = 1 ]; then
		chroot "$m" env -i container=lab HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin /lab/setup
	fi
	cd "$m"; mkdir -p .old; pivot_root . .old
	exec chroot . /bin/sh -c 'umount -l /.old; rmdir /.old 2>/dev/null
		exec env -i container=lab PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio,-audit_read,-audit_control,-mac_admin,-mac_override,-wake_alarm \
			/lib/systemd/systemd --system --log-target=journal --show-status=no'
}

ns_enter() { # ns_enter HANDLE COMMAND...: a bare process in the namespaces, of no unit
	local st=$1; shift
	nsenter --target "$(cat "$st/leader.pid")" --all --root --wd -- env -i container=lab HOME=/root LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" "$@"
}

# as a transient unit of its own, so that it is the machine's process in every respect
ns_exec() {
	local st=$1; shift
	local io=--pipe
	[ -t 0 ] && [ -t 1 ] && io=--pty
	ns_enter "$st" systemd-run --quiet --wait $io --collect --service-type=exec -E HOME=/root -E LANG=C.UTF-8 -- "$@"
}

ns_stop() {
	local st=$1 leader un cg
	leader=$(cat "$st/leader.pid" 2>/dev/null || true); un=$(cat "$st/unshare.pid" 2>/dev/null || true)
	if ! grep -qsE 'running|degraded' "$st/state"; then
		[ -n "$un" ] && kill -9 "$un" 2>/dev/null || true # not up yet: --kill-child takes the rest
	elif [ -n "$leader" ] && kill -0 "$leader" 2>/dev/null; then
		kill -s RTMIN+4 "$leader" || true # poweroff.target
		for _ in $(seq 400); do kill -0 "$leader" 2>/dev/null || break; sleep 0.05; done
		kill -9 "$leader" 2>/dev/null || true # kills the whole PID namespace
	fi
	[ -n "$un" ] && { wait "$un" 2>/dev/null || true; }
	for _ in 1 2 3 4 5; do # leaves first; the kernel may need a moment after the last exit
		[ -f "$st/cgroups" ] || break
		local left=0
		while read -r cg _; do
			[ -d "$cg" ] && { find "$cg" -depth -type d -exec rmdir {} + 2>/dev/null || true; }
			[ -d "$cg" ] && left=1
		done <"$st/cgroups"
		[ $left = 0 ] && break; sleep 0.1
	done
	rm -rf "$st"
	say "stopped"
}

# ---------------------------------------------------------------- engine qemu
# The image boots a unit that unpacks a tar from the second disk, runs /lab/run with its
# output on the second serial line, leaves /lab/out as a tar on the third disk, powers off.
qemu_image() {
	local d=$1 r=$1/root
	cat >"$r/etc/systemd/system/lab-run.service" <<'U'
[Unit]
Description=Run the lab's script
After=dbus.service
[Service]
Type=exec
StandardOutput=file:/dev/ttyS1
StandardError=file:/dev/ttyS1
ExecStart=/usr/local/sbin/lab-run
ExecStopPost=/usr/bin/systemctl --no-block poweroff
U
	cat >"$r/usr/local/sbin/lab-run" <<'U'
#!/bin/sh
export HOME=/root LANG=C.UTF-8
systemctl is-system-running --wait >/dev/null
tar -xf /dev/vdb -C / && cd /lab && ./run
status=$?
mkdir -p /lab/out && tar -C /lab/out -cf /dev/vdc .
echo "lab-exit-status:$status"
U
	chmod 755 "$r/usr/local/sbin/lab-run"
	mkdir -p "$r/etc/systemd/system/multi-user.target.wants"
	ln -s ../lab-run.service "$r/etc/systemd/system/multi-user.target.wants/lab-run.service"
	ln -sf /dev/null "$r/etc/systemd/system/serial-getty@ttyS0.service"
	echo '/dev/vda / ext4 defaults 0 1' >"$r/etc/fstab"
	cp "$r"/boot/vmlinuz-* "$d/vmlinuz"; cp "$r"/boot/initrd.img-* "$d/initrd"
	rm -f "$r"/boot/initrd.img-* "$r"/boot/vmlinuz-*
	truncate -s 2G "$d/disk.img"
	mke2fs -q -t ext4 -O ^has_journal -d "$r" "$d/disk.img"
	rm -rf "$r"
}

qemu_run() { # qemu_run SCRIPT ARGS...
	local d st c rc
	need qemu-system-x86_64 qemu-system-x86; need mke2fs e2fsprogs
	d=$(make_root); say "image ready: $d"
	st=$(mktemp -d "${TMPDIR:-/tmp}/lab-XXXXXX")
	mkdir -p "$st/t/lab"
	cp "$1" "$st/t/lab/script"; chmod 755 "$st/t/lab/script"; shift
	{ echo '#!/bin/sh'; printf 'hostname %q\n' "$NAME"; [ "$SETUP" = 0 ] || echo './setup || exit'; printf 'exec ./script'; [ $# -gt 0 ] && printf ' %q' "$@"; echo; } >"$st/t/lab/run"
	chmod 755 "$st/t/lab/run"
	for c in "${COPIES[@]}"; do
		[ -e "${c%%:*}" ] || die "--copy: no ${c%%:*}"
		mkdir -p "$(dirname "$st/t${c#*:}")"; cp -aT --remove-destination "${c%%:*}" "$st/t${c#*:}"
	done
	tar -C "$st/t" --owner=0 --group=0 -cf "$st/in.tar" .
	truncate -s '%1M' "$st/in.tar"
	qemu-img create -q -f qcow2 -F raw -b "$d/disk.img" "$st/disk.qcow2"
	: >"$st/out"
	truncate -s 256M "$st/out.tar"
	qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m "$MEM" -nographic -no-reboot -nodefaults \
		-kernel "$d/vmlinuz" -initrd "$d/initrd" \
		-append "root=/dev/vda rw console=ttyS0 quiet mitigations=off audit=0 random.trust_cpu=on systemd.show_status=no fsck.mode=skip $KARGS" \
		-drive "file=$st/disk.qcow2,if=virtio,format=qcow2,cache=unsafe" \
		-drive "file=$st/in.tar,if=virtio,format=raw,read-only=on" \
		-drive "file=$st/out.tar,if=virtio,format=raw,cache=unsafe" \
		-object rng-random,filename=/dev/urandom,id=r0 -device virtio-rng-pci,rng=r0 \
		-serial "file:$st/console" -serial "file:$st/out" </dev/null >&2 &
	local pid=$!
	# shellcheck disable=SC2064
	trap "kill $pid 2>/dev/null; wait $pid; rm -rf '$st'; exit 130" INT TERM
	wait $pid || true
	say "machine off"
	if [ -n "$OUTDIR" ]; then mkdir -p "$OUTDIR"; tar -C "$OUTDIR" -xf "$st/out.tar"; fi
	rc=$(sed -n 's/\r$//; s/^lab-exit-status:\([0-9]*\)$/\1/p' "$st/out" | tail -1)
	sed -e 's/\r$//' -e '/^lab-exit-status:/d' "$st/out"
	[ -n "$rc" ] || { tail -40 "$st/console" >&2; rc=125; }
	rm -rf "$st"
	return "$rc"
}

# ---------------------------------------------------------------- command line
[ $# -ge 1 ] || { sed -n '2,/^set -euo/p' "$SELF" | sed '$d; s/^# \{0,1\}//'; exit 2; }
CMD=$1; shift
case $CMD in
_init) ns_init "$@" ;;
exec) h=$1; shift; ns_exec "$h" "$@"; exit ;;
stop) ns_stop "$1"; exit ;;
esac
while [ $# -gt 0 ]; do
	case $1 in
	--engine) ENGINE=$2; shift 2 ;;
	--suite) SUITE=$2; shift 2 ;;
	--pkgs) PKGS=$2; shift 2 ;;
	--copy) COPIES+=("$2"); shift 2 ;;
	--out) OUTDIR=$2; shift 2 ;;
	--netns) NETNS=$2; shift 2 ;;
	--name) NAME=$2; shift 2 ;;
	--mem) MEM=$2; shift 2 ;;
	--kernel-args) KARGS=$2; shift 2 ;;
	--setup) SETUP=1; shift ;;
	-v) VERBOSE=1; shift ;;
	--) shift; break ;;
	*) die "unknown option $1" ;;
	esac
done
case $CMD in
root) make_root ;;
boot) [ "$ENGINE" = ns ] || die "boot: only with --engine ns"; ns_boot; echo "$HANDLE" ;;
run)
	[ $# -ge 1 ] || die "run: no script"
	[ "$ENGINE" = qemu ] && { qemu_run "$@"; exit; }
	COPIES+=("$(readlink -f "$1"):/lab/script"); shift
	trap '[ -n "$HANDLE" ] && ns_stop "$HANDLE"' EXIT
	trap 'exit 130' INT TERM
	ns_boot
	# in a session of its own and waited for: a signal to the group ends this script first,
	# whose trap shuts the machine down in order
	setsid "$SELF" exec "$HANDLE" /lab/script "$@" <&0 &
	rc=0; wait $! || rc=$?
	say "script ended with $rc"
	if [ -n "$OUTDIR" ]; then
		mkdir -p "$OUTDIR"
		# Status 1: the machine still lives, and something changed while it was read.
		ns_enter "$HANDLE" sh -c 'mkdir -p /lab/out && tar -C /lab/out -cf - . || test $? -eq 1' | tar -C "$OUTDIR" -xf -
	fi
	exit $rc
	;;
*) die "unknown command $CMD" ;;
esac
