# Everything that is run by hand or by CI is a target here; "make help" lists them.
GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
RETRY       := testdata/lab/retry.sh
# TWICE runs go test, and then each failed test once more. One that passes then is reported as UNSTABLE.
TWICE       := testdata/lab/twice.sh $(GO) test
FUZZTIME    ?= 60s
# A regular expression for names of fuzz targets.
TARGET      ?= Fuzz[A-Za-z0-9]+
# So that the fuzzer sees what is executed; without it nothing needs to be compiled again.
INSTRUMENT  ?= -fuzz .
SEEDS       ?= 20000
FIRST       ?= 1
CRASHES     ?= 1000
BIN         ?= bin
MANDIR      ?= $(BIN)/man
# What needs no host to be tested.
DECIDING    := ./daemon/job ./daemon/budget ./gossip/rendezvous
# Tests of the packages of crontab that take minutes in an emulator, or assert a time.
UNEMULATED  := BruteForce|ZoneHasEveryChange|NextAtZoneChanges|TooManyOptionsHold|ConnectCutsLongCircles|PerYear|BeyondTheLimit|EachCodeIsListed
RINGS       := ^TestRing(OfFive|WithAClockAhead|WithAClockThatIsSet|OfTwoModes|WithAFullDisk|IsRecovered)$$
# Two thirds of the time of all tests of programs: they wait for real minutes, limits and ends of
# daemons, compare with every minute of a zone, or go through every line of the pages.
SLOW        := ^Test(Crash|CrashUnderAManager|BackfillCrash|ExtremeLinesDelayNobody|Tutorial|Script|HostScript|ClockIsSet|FullDisk|TermEndsJobsAfterGrace|UserCannotPreventRingJobOfAnotherOwner|HostStartsWhileADirectoryServiceIsDead|BackgroundProcessOutlivesDaemons(WithoutManager)?|JobsOutliveWhateverBecomesOfTheDaemon|OutputOfATailIsThereOnceAfterACrash|KilledDaemonWithoutManagerDoublesNothing|HostTellsOfAStreakOnce|Container|ReadmeFirstMinute|Terminal.*|BoardSaysWhatListSays|RoutesPerPeer|WhyOfEveryOccurrence|EveryOptionIsFound|TimeoutEndsTheProcessGroup|StopGoesOnAfterACrashWithoutLeader|HostTellsOfAnOddDuration|TracedProcessesDelayNoStop|StoppedFileWatcherDelaysNobody|RingJobThatCannotStartHereRunsElsewhere|RunsStartedByOthersAreBounded|SimulationOfRingsWithFoundFaults|HoursEqualTheClockOfAZone|ClaimWhenTheLeaderFallsSilent|ClaimsOverASlowNetwork|StoppedProcess|AdoptedTailsUseTheShare|BoardAsTheModel|RequestsOfAUserAreAnsweredSlowly|Renewal.*|MarksCount.*|StrangeLinesRun|HushAsksNobody|LargeCrontabsOfAUserDelayNobody)$$|^TestScripts$$/^online_(notify|beat|notify_sandbox|reach|files)$$
# Packages in which goroutines share memory, without those that need SQLite, memberlist or raft, which
# take minutes to compile for the race detector. "make long" and the workflow take the others too.
RACED       ?= ./daemon/mail/sendmail ./daemon/notify ./daemon/outbox ./daemon/session ./daemon/spawn ./daemon/spool ./daemon/starter
# One goroutine works for minutes in these, if the race detector watches it.
UNRACED     := ^Test(WhyOfEvery.*|RoutesPerPeer|PruneLooksAtNewsInSmallSteps|StateOfAllJobsOfAnAccountIsBounded|RevisionsAreBounded)$$
PREFIX      ?= /usr
DESTDIR     ?=
ARCHES      ?= amd64 arm64 arm
# Of macOS, which only the client runs on.
MACS        ?= amd64 arm64
FORMATS     ?= deb rpm
DIST        ?= dist
FAMILY      ?= $(if $(wildcard /etc/debian_version),debian,rhel)
export CGO_ENABLED ?= 0
# For each Raspberry Pi. Debian's armhf has a newer instruction set, Raspberry Pi OS this one.
export GOARM       ?= 6
# In all that is built here, so that each package is compiled once for it.
export GOFLAGS += -trimpath -buildvcs=false
# The changelog says which version this is, and of when.
CHANGES     := packaging/changelog.yaml
VERSION     ?= $(shell sed -n 's/^- semver: \(.*\)-.*/\1/p;T;q' $(CHANGES))
REVISION    ?= $(shell sed -n 's/^- semver: .*-//p;T;q' $(CHANGES))
LDFLAGS     := -s -X github.com/cronring/cronring/daemon/api.release=$(VERSION)
# A cronring that runs here: the one that is installed may be another machine's.
SELF        ?= $(BIN)/cronring

.PHONY: help run build modules test programs check tests lint analysis macos race machines rings long fuzz inputs targets sim crash sleepers zones ring chaos attacks arm minutes lab compare clock bench bench-tui picture man options map install uninstall packages container release clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

run: build ## run the demo crontab in the foreground (ask it things from a second terminal: bin/cronring)
	bin/cronringd testdata/crontab/demo.crontab

# "go build" updates the time of a program even if it has not changed, and then Go repeats the tests that
# execute it. So only a program that has changed is replaced.
build: ## build bin/cronringd and bin/cronring
	@test -e bin/cronringd || echo "building cronring: Go fetches and compiles it for some minutes the first time, then for seconds" >&2
	@$(RETRY) "download the Go modules" $(GO) list -deps ./cmd/... >/dev/null
	$(GO) build -ldflags="$(LDFLAGS)" -o $(BIN)/.new/ ./cmd/...
	@for program in cronring cronringd; do cmp -s $(BIN)/.new/$$program $(BIN)/$$program || install -t $(BIN) $(BIN)/.new/$$program || exit; done

modules: ## download the Go modules of the programs, the tests and their tools, in up to three attempts
	$(RETRY) "download the Go modules" $(GO) mod download
	$(RETRY) "download the tools that make packages" $(GO) list -modfile=packaging/tools.mod -deps tool >/dev/null

test: modules build ## all that must pass: linters, tests, the race detector, fuzzing for seconds, booted machines, which mostly wait
	@echo "testing for about 8 minutes on two cores; each part says what came of it when all of it is done"
	$(MAKE) --output-sync=target -j3 programs machines lint

# In place of a build of its own in each package whose tests execute the programs.
check tests machines rings: export CRONRING_BIN = $(abspath $(BIN))

programs: tests
	$(MAKE) race inputs

# As the next target, but with results that are still true from earlier, and packages and tests wait
# beside each other.
check: build lint analysis ## what to run after each change, in a minute: linters and short tests, without those in SLOW
	$(GO) test -vet=off -short -p 4 -parallel 6 -timeout 10m -skip '$(RINGS)|$(SLOW)' $$($(GO) list ./... | grep -v /packaging$$)

tests: build ## the tests alone, without packaging and rings of daemons; root boots three small machines
	$(TWICE) -vet=off -p 3 -count=1 -timeout 30m -skip '$(RINGS)' -- $$($(GO) list ./... | grep -v /packaging$$)
	@test "$$(id -u)" = 0 || echo "SKIPPED: what only root can do (become other accounts, mount, make control groups, own a host's tables) is not tested as $$(id -un); go test -v names each test"
	@command -v tmux >/dev/null || echo "SKIPPED: tmux is not installed, so the dashboard is not driven in a terminal"
	@$(GO) test -vet=off -count=1 -v ./daemon/cgroup | sed -n 's/.*SKIPPED, NOT TESTED: */SKIPPED: some tests of control groups: /p' | sort -u

lint: ## gofmt, vet, scripts, manual pages
	@test -z "$$(gofmt -l .)" || { echo "gofmt -w these:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	@if command -v shellcheck >/dev/null; then shellcheck -S warning -x .ci/run testdata/lab/*.sh testdata/lab/sendmail packaging/scripts/*; else echo "SKIPPED: shellcheck is not installed, so the scripts are not linted"; fi
	@if command -v mandoc >/dev/null; then mandoc -T lint -W warning man/*.[1-9]; else echo "SKIPPED: mandoc is not installed, so the manual pages are not linted"; fi

# On a fresh machine they take minutes to compile and to analyse SQLite, so "make test" is without them.
analysis: ## staticcheck, the workflows, and manifests of crontabs against the schemas of Kubernetes and Nomad
	@$(RETRY) "download staticcheck" $(GO) run $(STATICCHECK) -version
	@$(RETRY) "download what checks manifests" $(GO) -C packaging/manifests list -deps . >/dev/null
	@$(RETRY) "download actionlint" $(GO) run $(ACTIONLINT) -version
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(ACTIONLINT) .github/workflows/*.yml
	CRONRING_LONG=1 $(GO) test -vet=off ./cmd/cronring/migration/manifest

macos: ## the client for macOS, which is compiled here but run nowhere, and its tarball
	CRONRING_LONG=1 $(GO) test -vet=off -count=1 ./packaging -run '^TestRelease$$'

race: ## the packages RACED, under the race detector
	@if command -v $$($(GO) env CC) >/dev/null; then CGO_ENABLED=1 $(GO) test -vet=off -short -count=1 -timeout 30m -skip '$(UNRACED)' -race $(RACED); else echo "SKIPPED: there is no C compiler, which the race detector needs"; fi

long: RACED = ./daemon/... ./gossip/... ./cmd/... ./tui/...
long: macos race fuzz sim crash sleepers zones ring attacks arm hosts ## the suites that take long

targets: ## list the fuzz targets
	@grep -rhoE '^func $(TARGET)\(' --include=*_test.go . | sed 's/func //; s/(//' | sort -u

# The directories of the fuzz targets that match TARGET. "make -j2 fuzz" fuzzes two of them at a time.
FUZZED       = $(shell grep -rlE '^func $(TARGET)[^A-Za-z0-9]' --include=*_test.go . | xargs -n1 dirname | sort -u)
.SECONDEXPANSION:
fuzz: $$(addprefix fuzz/,$$(FUZZED)) ## each fuzz target that matches TARGET for FUZZTIME

# By number, as a time limit fails what is just under way on a busy machine.
# Without coverage, which takes minutes to compile and guides only longer runs.
# One worker and a fixed seed make the same inputs each time, so that only a change
# of the code can make this fail. The longer runs of fuzz.yml look for new inputs.
inputs: ## 1,000 inputs for each fuzz target, the same each time
	GODEBUG=fuzzseed=1 $(MAKE) fuzz FUZZTIME=1000x INSTRUMENT= FUZZFLAGS=-test.parallel=1

fuzz/%:
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && \
	corpus=$$($(GO) env GOCACHE)/fuzz/$$($(GO) list $*) && $(GO) test -c $(INSTRUMENT) -o "$$work/fuzz" $* || exit 1; \
	for target in $$(grep -hoE '^func $(TARGET)\(' $*/*_test.go | sed 's/func //; s/(//'); do \
		echo "$* $$target"; \
		(cd $* && "$$work/fuzz" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) $(FUZZFLAGS) -test.fuzzcachedir "$$corpus") || exit 1; \
	done

sim: ## SEEDS simulated years from the seed FIRST on against the engine's invariants, a third of them with every option, half as many rings, and why of their occurrences
	$(GO) test ./daemon/engine -run 'Simulation(Same|Trails|OfOwners|OfEdits|$$)' -count=1 -timeout 2h -first $(FIRST) -seeds $(SEEDS)
	$(GO) test ./daemon/engine -run SimulationOfRings -count=1 -timeout 2h -first $(FIRST) -seeds $$(($(SEEDS) * 3 / 2))
	$(GO) test ./daemon/server/why -run WhyOfEvery -count=1 -timeout 2h -seeds $$(($(SEEDS) / 100))

crash: build ## kill -9 of a busy daemon at CRASHES random points, without a service manager and, for root, with one
	CRONRING_CRASHES=$(CRASHES) $(GO) test ./cmd/cronringd -run '^TestCrash$$' -count=1 -timeout 3h -v
	CRONRING_CRASHES=$(CRASHES) $(GO) test ./daemon -run '^TestCrashUnderAManager$$' -count=1 -timeout 3h -v

ring: build ## five daemons on networks that are cut for minutes, in both modes (root, nft, iproute2)
	CRONRING_LONG=1 $(GO) test ./cmd/cronringd -run '$(RINGS)' -count=1 -timeout 1h -v

chaos: ## faults done to rings of five hosts, judged by what their jobs wrote: FAULT=kill MODE=strict for some alone (root, nft, iproute2, cc; 25 minutes)
	CRONRING_LONG=1 $(GO) test ./cmd/cronringd -run '^TestChaos$$/$(MODE)/$(FAULT)' -count=1 -timeout 2h -v

attacks: ## an ordinary user attacks a booted host: delays of root's jobs, against their limits (root, mmdebstrap, an idle machine)
	CRONRING_LONG=1 $(GO) test ./packaging -run '^TestAttacks$$' -count=1 -timeout 1h -v

hosts: ## the dashboard of three booted machines over real ssh, one killed and one with Debian's cron alone (root, mmdebstrap, iproute2, tmux, ssh)
	CRONRING_LONG=1 $(GO) test ./packaging -run '^TestHostsOverSSH$$' -count=1 -timeout 20m -v

arm: ## vet for 32 bits, tests of packages without I/O, and the packaged programs, on emulated arm64 and armhf (qemu-user-static)
	GOARCH=arm $(GO) vet ./...
	GOARCH=arm64 $(GO) test -short -count=1 -timeout 10m -skip '$(UNEMULATED)' -exec qemu-aarch64-static $(DECIDING) ./crontab/...
	GOARCH=arm $(GO) test -short -count=1 -timeout 10m -skip '$(UNEMULATED)' -exec qemu-arm-static $(DECIDING) ./crontab/...
	CRONRING_LONG=1 $(GO) test ./packaging -run '^TestPackagesForARM$$' -count=1 -timeout 1h -v

sleepers: build ## 10,000 jobs that sleep at the same time, a quarter of which make test runs
	CRONRING_LONG=1 $(GO) test ./cmd/cronringd -run '^TestThousandsOfSleepingJobs$$' -count=1 -v

zones: ## Next against its definition around every change of every zone, to 2200
	CRONRING_LONG=1 $(GO) test ./crontab/timetable -run BruteForce -count=1 -timeout 1h

machines: build ## minutes and lab together, then rings of daemons
	$(TWICE) -vet=off -count=1 -timeout 45m -parallel 12 -v -- ./packaging
	@command -v piuparts >/dev/null || echo "SKIPPED: piuparts is not installed, so the package is not checked with it"
	$(MAKE) rings

rings: build ## the same cut for seconds, in strict mode, and a clock that is ahead
	$(TWICE) -run '^TestRing(OfFive|WithAClockAhead)$$' -skip '^TestRingOfFive$$/^available$$' -count=1 -timeout 15m -v -- ./cmd/cronringd

minutes: ## real minutes beside Debian's cron on the same tables, and of other crons on ours (root, mmdebstrap): mostly waiting
	$(GO) test ./packaging -run Compare -count=1 -timeout 30m -parallel 8 -v

lab: ## what an installed daemon does in a booted systemd: every other short proof (root, mmdebstrap)
	$(GO) test ./packaging -skip Compare -count=1 -timeout 30m -parallel 8 -v

compare: ## ten real minutes beside Debian's cron on the same tables, in two machines
	CRONRING_LONG=1 $(GO) test ./packaging -run Compare -count=1 -timeout 1h -parallel 8 -v

clock: ## the same at midnight, a month's end and changes of the clock, in emulated machines
	CRONRING_LONG=1 $(GO) test ./packaging -run Clock -count=1 -timeout 2h -v

bench-tui: ## the dashboard with 100,000 jobs on a live daemon, over a terminal: what a person waits for
	$(GO) test ./tui -run '^$$' -bench Dashboard -benchtime 1x -timeout 10m

picture: build ## draw testdata/tui/dashboard.svg from the demonstration, after some minutes (tmux)
	CRONRING_PICTURE=$(CURDIR)/testdata/tui/dashboard.svg $(GO) test ./tui -run "^TestPicture$$" -count=1 -timeout 20m

bench: ## every figure of testdata/figures.md in one run, against its peer or limit
	$(GO) test -run '^$$' -bench . -benchmem -timeout 1h ./...

man: ## write all manual pages: MANDIR=bin/man
	env -u GOOS -u GOARCH $(GO) run ./cmd/cronring man --dir $(MANDIR)

options: ## write the index of options in crontab(5) and cronring-options(7) from the vocabulary
	UPDATE_SCRIPTS=1 $(GO) test ./crontab -run '^TestOptionsIndex$$' -count=1

map: ## write the package map in .github/CONTRIBUTING.md from the package comments
	$(GO) test ./daemon -run '^TestPackageMap$$' -count=1 -update

# Paths inside DESTDIR; units name /usr/sbin, so another PREFIX edits them.
UNITS    = $(DESTDIR)$(PREFIX)/lib/systemd/system
SETTINGS = $(DESTDIR)/etc/cronring/cronring.toml
BASHCOMP = $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cronring
ZSHCOMP  = $(DESTDIR)$(PREFIX)/share/zsh/$(if $(filter debian,$(FAMILY)),vendor-completions,site-functions)/_cronring
FISHCOMP = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cronring.fish

install: $(BIN)/cronringd ## install programs, units, manual pages, completions, PAM file: DESTDIR= PREFIX=/usr FAMILY=debian|rhel
	install -Dm755 -t $(DESTDIR)$(PREFIX)/sbin $(BIN)/cronringd
	install -Dm755 -t $(DESTDIR)$(PREFIX)/bin $(BIN)/cronring
	ln -sfn cronring $(DESTDIR)$(PREFIX)/bin/crontab
	install -d $(UNITS)
	sed 's|/usr/sbin/|$(PREFIX)/sbin/|' packaging/cronring.service >$(UNITS)/cronring.service
	install -Dm644 -t $(UNITS) packaging/cronring.socket
	install -Dm644 packaging/pam.d/$(FAMILY) $(DESTDIR)/etc/pam.d/cronring
	test -e $(SETTINGS) || install -Dm644 packaging/cronring.toml $(SETTINGS)
	pages=$$(mktemp -d) && $(SELF) man -q --dir $$pages && for page in $$pages/*; do install -Dm644 -t $(DESTDIR)$(PREFIX)/share/man/man$${page##*.} $$page || exit; done && rm -r $$pages
	install -d $(dir $(BASHCOMP) $(ZSHCOMP) $(FISHCOMP))
	$(SELF) completion bash >$(BASHCOMP)
	$(SELF) completion zsh >$(ZSHCOMP)
	$(SELF) completion fish >$(FISHCOMP)

# Built by whoever builds; a root without Go only installs.
$(BIN)/cronringd:
	$(MAKE) build

uninstall: ## remove what install installed; settings, history and crontabs stay
	rm -f $(DESTDIR)$(PREFIX)/sbin/cronringd $(DESTDIR)$(PREFIX)/bin/cronring
	test "$$(readlink $(DESTDIR)$(PREFIX)/bin/crontab)" != cronring || rm $(DESTDIR)$(PREFIX)/bin/crontab
	rm -f $(UNITS)/cronring.service $(UNITS)/cronring.socket $(DESTDIR)/etc/pam.d/cronring
	rm -f $(DESTDIR)$(PREFIX)/share/man/man[1-9]/cronring* $(DESTDIR)$(PREFIX)/share/man/man[15]/crontab.[15] $(BASHCOMP) $(ZSHCOMP) $(FISHCOMP)

# The same bytes from the same source, whoever builds them, where and when.
packages container release: export SOURCE_DATE_EPOCH ?= $(shell date -d "$$(sed -n 's/^  date: //p;T;q' $(CHANGES))" +%s)
packages: build ## dist/: .deb and .rpm for ARCHES
	VERSION=$(VERSION) REVISION=$(REVISION) FORMATS="$(FORMATS)" DIST=$(DIST) BIN=$(BIN) SELF=$(abspath $(SELF)) packaging/scripts/build $(ARCHES)

container: ## dist/: an OCI image archive for each of ARCHES, without a container engine
	@mkdir -p $(DIST)
	@for arch in $(ARCHES); do \
		GOARCH=$$arch $(MAKE) -s build BIN=$(BIN)/linux-$$arch || exit; \
		image=$(DIST)/cronring_$(VERSION)_linux_$$arch.oci.tar; \
		$(GO) run ./packaging/container -bin $(BIN)/linux-$$arch -arch $$arch -version $(VERSION) -epoch $$SOURCE_DATE_EPOCH -o $$image || exit; \
		echo $$image; \
	done

release: packages container ## dist/: packages, images, tarballs (for macOS too), bills of materials, checksums
	@for arch in $(MACS); do GOOS=darwin GOARCH=$$arch $(GO) build -ldflags="$(LDFLAGS)" -o $(BIN)/darwin-$$arch/ ./cmd/cronring || exit; done
	VERSION=$(VERSION) SELF=$(abspath $(SELF)) BIN=$(BIN) DIST=$(DIST) packaging/release/build $(ARCHES:%=linux-%) $(MACS:%=darwin-%)

clean: ## remove what was built
	rm -rf bin dist
