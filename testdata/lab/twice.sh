#!/usr/bin/env bash
# twice.sh COMMAND [FLAG...] -- PACKAGE... - run go test, and each test that failed once more.
#
# Many tests start processes, daemons, terminals and machines, and wait for them. On a busy machine, one of
# thousands may fail by chance, and would hide what the others say about a change. The output names such
# a test after UNSTABLE: it is a defect, of the test or of the product, that somebody must repair.
# A failure counts at once if more than three tests failed, or if it is not that of a test: a package
# that was not built, a panic, a time limit, an example, a program that ends before its tests.
#
# The exit status is that of the second attempt, if there is one.
set -uo pipefail
command=()
while [ "$1" != -- ]; do command+=("$1"); shift; done
shift
out=$(mktemp) && trap 'rm -f "$out"' EXIT
"${command[@]}" "$@" 2>&1 | tee "$out" && exit
status=("${PIPESTATUS[@]}")
[ "${status[1]}" = 0 ] || { echo "twice: the output could not be kept, so no test runs again"; exit 1; }
# In the lines of failed packages: the path, and an expression for the tests that failed.
failed=$(awk '
	/^--- FAIL: Test/ { tests = tests (tests == "" ? "" : "|") $3; n++ }
	/^--- FAIL: [^T]|^[^ -].*--- FAIL: / { other = 1 } # no test, or its name follows other output
	/^ok / { tests = "" }
	# A program of tests that comes to its end prints FAIL before the line of go test.
	/^FAIL\t/ { if (tests == "" || NF != 3 || before != "FAIL") other = 1; print $2, "^(" tests ")$"; tests = "" }
	/^panic: |^fatal error: / { other = 1 }
	{ before = $0 }
	END { exit other || n == 0 || n > 3 }' "$out") || exit "${status[0]}"
while read -r package tests; do
	echo "twice: $package: the tests $tests failed; they run once more"
	"${command[@]}" -run "$tests" "$package" || exit
	echo "UNSTABLE: $package: the tests $tests failed, and passed in a second attempt: repair them"
	[ -z "${GITHUB_ACTIONS-}" ] || echo "::warning::UNSTABLE: $package: $tests"
done <<<"$failed"
