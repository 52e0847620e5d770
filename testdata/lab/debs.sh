#!/usr/bin/env bash
# debs.sh SUITE PACKAGE... - a folder of Debian's own packages that apt in a machine
# without a network installs from, as "deb [trusted=yes] file:FOLDER ./"; prints its path.
# debs.sh --source SUITE PACKAGE - a folder with the Debian part of a source package.
#
# Without their dependencies: the root has those, or another PACKAGE is one. Fetched
# once and kept beside the roots; LAB_CACHE, LAB_SOURCES and LAB_RETRY_WAIT are as for
# boot-systemd.sh.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/retry.sh"
kind=debs
[ "${1-}" != --source ] || { kind=source; shift; }
[ $# -ge 2 ] || { sed -n '2,/^set -euo/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 2; }
suite=$1; shift
cache=${LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lab}
here=$(. /etc/os-release; echo "${VERSION_CODENAME:-none}")
dir=$cache/$kind-$suite-$(printf '%s\n' "v1 $suite" "$@" | sha256sum | cut -c1-12)
[ -d "$dir" ] && { echo "$dir"; exit; }
mkdir -p "$cache"
exec 8>"$dir.lock"
flock 8
[ -d "$dir" ] && { echo "$dir"; exit; }

# An apt of its own: it knows nothing of what is installed here.
new=$dir.new apt=$(mktemp -d)
trap 'rm -rf "$apt" "$new"' EXIT
mkdir -p "$apt"/{etc/preferences.d,lists/partial,archives/partial}
list=${LAB_SOURCES:-/etc/apt/sources.list.d/debian.sources}
[ -s "$list" ] || list=/etc/apt/sources.list
grep -q '^Types:' "$list" && own=$apt/etc/lab.sources || own=$apt/etc/lab.list
sed "s/\b$here\b/$suite/g" "$list" >"$own"
[ $kind = debs ] || sed -i 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$own"
: >"$apt/status"
get() {
	apt-get -qq -o Dir::Etc="$apt/etc" -o Dir::Etc::sourcelist="$own" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::parts=/dev/null -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
		-o Dir::Cache="$apt" -o APT::Sandbox::User=root -o APT::Update::Post-Invoke-Success::= "$@" >&2
}
# download fills $new. apt-get update succeeds even if it fetched nothing, so both are one attempt.
download() { rm -rf "$new" && mkdir "$new" && get update && (cd "$new" && "$kind" "$@"); }
debs() { get download "$@"; }
source() { get source --download-only "$@" && tar -xf ./*.debian.tar.*; }
retry "download $* of $suite" download "$@"
[ $kind = debs ] || { mv "$new" "$dir" && echo "$dir" && exit; }
for deb in "$new"/*.deb; do
	dpkg-deb --field "$deb"
	printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "${deb##*/}" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d ' ' -f 1)"
done >"$new/Packages"
mv "$new" "$dir"
echo "$dir"
