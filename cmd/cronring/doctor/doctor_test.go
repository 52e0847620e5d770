package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// silent is a daemon that does not answer.
func silent(context.Context) (api.Status, error) {
	return api.Status{}, &api.Error{What: "cannot see the status: cronringd does not answer on /s", Why: "gone", Kind: api.Unreachable}
}

// healthy is a host on which everything is in order, and the daemon's pid 77.
func healthy(t *testing.T) inventorytest.Files {
	t.Helper()
	return inventorytest.Files{
		"/etc/localtime": "-> /usr/share/zoneinfo/UTC", "/etc/timezone": "UTC\n",
		"/etc/group":         "root:x:0:\ncrontab:x:0:\n",
		"/etc/crontab":       "0 4 * * * root true\n",
		"/etc/cron.d/.x":     "",
		"/usr/bin/cronring":  "program",
		"/usr/bin/crontab":   "-> cronring",
		"/usr/sbin/sendmail": "program",
		"/var/lib/cronring/": "", "/run/cronring/": "", "/var/spool/cron/crontabs/": "",
		"/proc/self/ns/pid": "-> pid:[1]",
		"/proc/77/comm":     "cronringd\n", "/proc/77/exe": "-> /usr/sbin/cronringd", "/proc/77/ns/pid": "-> pid:[1]",
		"/proc/77/status":                       "Name:\tcronringd\nCapEff:\t000001ffffffffff\n",
		"/proc/sys/fs/inotify/max_user_watches": "65536\n", "/proc/sys/fs/inotify/max_user_instances": "128\n",
		"/sys/class/rtc/rtc0/since_epoch": fmt.Sprintln(inventorytest.Noon.Unix()),
		"/run/systemd/system/":            "",
	}
}

// patient is a host under examination: its files, a daemon that answers, and a systemd with units.
func patient(t *testing.T, units map[string]string, files ...inventorytest.Files) *examination {
	t.Helper()
	inventorytest.NeedRoot(t)
	root := inventorytest.Plant(t, files...)
	if err := syscall.Mknod(filepath.Join(root, api.SystemSocket), syscall.S_IFSOCK|0o666, 0); err != nil && !os.IsExist(err) && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for path, mode := range map[string]uint32{"/var/lib/cronring": 0o700, "/var/spool/cron/crontabs": 0o1730, "/usr/sbin/sendmail": 0o755, api.SystemSocket: 0o666} {
		if err := syscall.Chmod(filepath.Join(root, path), mode); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	m := inventorytest.Machine(t, root, crontab.Debian, "UTC")
	m.Exec = func(_ context.Context, argv ...string) (string, int, error) {
		if argv[0] != "systemctl" || argv[1] != "show" {
			return "", 0, inventory.ErrNotRunning
		}
		var blocks []string
		for _, unit := range argv[slices.Index(argv, "-p")+2:] {
			text, ok := units[unit]
			if !ok {
				text = "Id=" + unit + "\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
			}
			blocks = append(blocks, text)
		}
		return strings.Join(blocks, "\n"), 0, nil
	}
	return &examination{
		Machine: m, privileged: true, socket: api.SystemSocket,
		ask: func(context.Context) (api.Status, error) {
			return api.Status{Health: api.Health{Version: "1", PID: 77}, Loaded: 1, Crontabs: 1}, nil
		},
		askRing: func(context.Context) (api.Ring, error) { return api.Ring{}, nil },
		kernel: kernel{
			adjtimex: func() (unix.Timex, error) { return unix.Timex{Maxerror: 3000}, nil },
			statfs: func(string) (unix.Statfs_t, error) {
				return unix.Statfs_t{Bsize: 4096, Bavail: 1 << 20, Files: 1 << 20, Ffree: 1 << 19}, nil
			},
			timerfd: func(int) error { return nil },
		},
	}
}

const goodUnit = "Id=cronring.service\nLoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nUnitFileState=enabled\n" +
	"KillMode=process\nWatchdogUSec=1min\nRestart=always\nNRestarts=0\nNeedDaemonReload=no\nDropInPaths=\n"

var goodUnits = map[string]string{"cronring.service": goodUnit}

// told returns the findings of grade problem, one per line.
func printed(t *testing.T, e *examination) string {
	t.Helper()
	var lines []string
	for _, f := range e.examine(context.Background()) {
		if f.Grade != gradeOK {
			lines = append(lines, fmt.Sprintf("%s %s: %s", f.Grade, f.Check, f.What))
		}
	}
	return strings.Join(lines, "\n")
}

func TestDoctorTellsHowPAMDecides(t *testing.T) {
	denied := inventorytest.Files{"/etc/pam.d/cron": "account required pam_access.so\n", "/etc/security/access.conf": "-:alice:cron\n"}
	for want, session := range map[string]*api.Session{
		"ok jobs start without PAM: cronring itself does what /etc/pam.d/cron requires\n": {Service: "cron"},
		"ok jobs get a PAM session, service cron\nline; each start takes":                 {PAM: true, Service: "cron", Why: "line"},
		"warning session = \"none\": jobs start without PAM\n/etc/pam.d/cron:1: account":  nil,
	} {
		e := patient(t, goodUnits, healthy(t), denied)
		e.ask = func(context.Context) (api.Status, error) {
			return api.Status{Health: api.Health{Version: "1", PID: 77, Session: session}}, nil
		}
		found := e.examine(t.Context())
		at := slices.IndexFunc(found, func(f finding) bool { return f.Check == "PAM" })
		if at < 0 {
			t.Fatalf("no finding about PAM for %+v", session)
		}
		if f := found[at]; !strings.HasPrefix(string(f.Grade)+" "+f.What+"\n"+f.Why, want) {
			t.Errorf("got %+v, want %q", f, want)
		}
	}
}

func TestDoctorFindsNothingOnAGoodHost(t *testing.T) {
	e := patient(t, goodUnits, healthy(t))
	if got := printed(t, e); got != "" {
		t.Errorf("got %s", got)
	}
	stdout, stderr, err := inventorytest.Spoken(t, func(a *cli.App) error {
		return doctor(context.Background(), a, e, &doctorFlags{strict: true, out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}})
	})
	if err != nil || !strings.HasPrefix(stdout, "✓ daemon       cronringd 1 answers on /run/cronring/cronring.sock: 1 job of 1 crontab\n") || !strings.Contains(stderr, "0 problems") {
		t.Errorf("got %v\n%s%s", err, stdout, stderr)
	}
}

// TestDoctorFinds breaks one thing at a time.
func TestDoctorFinds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files inventorytest.Files
		spoil func(e *examination)
		units map[string]string
		want  string
	}{
		{name: "the daemon is down", spoil: func(e *examination) { e.ask = silent }, want: "problem daemon: cronringd does not answer on /s"},
		{name: "the daemon has trouble", spoil: func(e *examination) {
			e.ask = func(context.Context) (api.Status, error) {
				return api.Status{Health: api.Health{Problems: []api.Problem{{What: "the disk is full"}}, Lost: 1}}, nil
			}
		}, want: "problem daemon: the disk is full\nproblem daemon: 1 record of runs could not be kept"},
		{name: "Debian's cron is active", units: map[string]string{"cron.service": "Id=cron.service\nActiveState=active\nUnitFileState=enabled\n"},
			files: inventorytest.Files{"/proc/5/comm": "cron\n", "/proc/5/exe": "-> /usr/sbin/cron", "/proc/5/ns/pid": "-> pid:[1]"},
			want:  "problem second cron: cron.service is also active: 1 entry would run twice"},
		{name: "cron.service is our own link", units: map[string]string{"cron.service": goodUnit}},
		{name: "cron comes back at boot", units: map[string]string{"cron.service": "Id=cron.service\nActiveState=inactive\nUnitFileState=enabled\n"},
			want: "warning second cron: cron.service is enabled: it starts again at the next boot"},
		{name: "systemd-cron", units: map[string]string{"cron.target": "Id=cron.target\nActiveState=active\nUnitFileState=enabled\n"},
			want: "problem second cron: cron.target is also active: 1 entry would run twice"},
		{name: "busybox's crond", files: inventorytest.Files{"/proc/5/comm": "crond\n", "/proc/5/exe": "-> /bin/busybox", "/proc/5/ns/pid": "-> pid:[1]"},
			want: "problem second cron: process 5 (busybox crond) is also active: 1 entry would run twice"},
		{name: "a cron without a unit and its child", files: inventorytest.Files{
			"/run/crond.pid": "5\n", "/proc/5/comm": "cron\n", "/proc/5/exe": "-> /usr/sbin/cron", "/proc/5/ns/pid": "-> pid:[1]",
			"/proc/6/comm": "cron\n", "/proc/6/exe": "-> /usr/sbin/cron", "/proc/6/ns/pid": "-> pid:[1]", "/proc/6/status": "PPid:\t5\n",
		}, spoil: func(e *examination) { lock(e, 5) }, want: "problem second cron: process 5 (cron) is also active: 1 entry would run twice"},
		{name: "a process of a cron that is gone waits for its job", files: inventorytest.Files{
			"/run/crond.pid": "77\n",
			"/proc/6/comm":   "cron\n", "/proc/6/exe": "-> /usr/sbin/cron (deleted)", "/proc/6/ns/pid": "-> pid:[1]", "/proc/6/status": "PPid:\t1\n",
		}, spoil: func(e *examination) { lock(e, 77) }},
		{name: "fcron has its own crontabs", files: inventorytest.Files{"/proc/5/comm": "fcron\n", "/proc/5/exe": "-> /usr/sbin/fcron", "/proc/5/ns/pid": "-> pid:[1]"},
			want: "warning second cron: process 5 (fcron) is also active: its jobs are in crontabs of its own, and not seen here"},
		{name: "the cron of a container", files: inventorytest.Files{"/proc/5/comm": "cron\n", "/proc/5/exe": "-> /usr/sbin/cron", "/proc/5/ns/pid": "-> pid:[2]"}},
		{name: "something that calls itself cron", files: inventorytest.Files{"/proc/5/comm": "cron\n", "/proc/5/exe": "-> /home/ann/game", "/proc/5/ns/pid": "-> pid:[1]"}},
		{name: "somebody else's cron", files: inventorytest.Files{"/proc/5/comm": "cron\n", "/proc/5/exe": "-> /usr/sbin/cron", "/proc/5/ns/pid": "-> pid:[1]"},
			spoil: func(e *examination) { chown(e, "/proc/5", 1000) }},
		{name: "a cron of unknown name holds the lock", files: inventorytest.Files{"/run/crond.pid": "5\n", "/proc/5/exe": "-> /opt/mycron"},
			spoil: func(e *examination) { lock(e, 5) },
			want:  "problem second cron: process 5 (mycron) is also active: 1 entry would run twice"},
		{name: "our own daemon holds the lock", files: inventorytest.Files{"/run/crond.pid": "77\n"}, spoil: func(e *examination) { lock(e, 77) }},
		{name: "our own daemon holds the lock, hidden and without an answer", files: inventorytest.Files{"/run/crond.pid": "78\n", "/proc/78/comm": "cronringd\n"},
			spoil: func(e *examination) { lock(e, 78); e.ask = silent },
			want:  "problem daemon: cronringd does not answer on /s"},
		{name: "anacron without its timer", files: inventorytest.Files{"/usr/sbin/anacron": "program"}, spoil: func(e *examination) { chmod(e, "/usr/sbin/anacron", 0o755) }, units: map[string]string{"anacron.timer": "Id=anacron.timer\nLoadState=loaded\nActiveState=inactive\n"},
			want: "warning second cron: anacron is installed, but anacron.timer is not active: its jobs run only when something else starts it"},

		{name: "no unit", units: map[string]string{"cronring.service": "Id=cronring.service\nLoadState=not-found\n"}, want: "warning unit: cronring.service does not exist"},
		{name: "not enabled", units: unitWith("UnitFileState=enabled", "UnitFileState=disabled"), want: "problem unit: cronring.service is not enabled: it does not start at boot"},
		{name: "jobs die with it", units: unitWith("KillMode=process", "KillMode=control-group"), want: "problem unit: KillMode=control-group is in effect"},
		{name: "no watchdog", units: unitWith("WatchdogUSec=1min", "WatchdogUSec=0"), want: "warning unit: no watchdog is in effect"},
		{name: "it failed", units: unitWith("ActiveState=active", "ActiveState=failed"), want: "problem daemon: cronringd does not run\nproblem unit: cronring.service failed: success"},
		{name: "it is down", units: unitWith("ActiveState=active", "ActiveState=inactive"), want: "problem daemon: cronringd does not run"},
		{name: "its socket was removed", spoil: func(e *examination) { e.ask = silent; os.Remove(e.Path(e.socket)) }, want: "problem daemon: cronringd runs without its socket"},
		{name: "it crashes", units: unitWith("NRestarts=0", "NRestarts=3"), want: "warning unit: systemd had to restart the daemon 3 times since it was started"},
		{name: "systemd does not answer", spoil: func(e *examination) {
			e.Exec = func(context.Context, ...string) (string, int, error) { return "", 0, errors.New("no bus") }
		}, want: "unseen second cron: systemd does not report which units are active\nunseen unit: systemd does not report the state of cronring.service"},

		{name: "the state is open", spoil: func(e *examination) { chmod(e, "/var/lib/cronring", 0o755) }, want: "problem rights: /var/lib/cronring has mode 0755 instead of 0700"},
		{name: "the state is ann's", spoil: func(e *examination) { chown(e, "/var/lib/cronring", 1000) }, want: "problem rights: /var/lib/cronring belongs to uid 1000, not to root"},
		{name: "the spool is open", spoil: func(e *examination) { chmod(e, "/var/spool/cron/crontabs", 0o1777) }, want: "problem rights: /var/spool/cron/crontabs has mode 1777: others may make files there"},
		{name: "the spool has another group", files: inventorytest.Files{"/etc/group": "crontab:x:101:\n"}, want: "problem rights: /var/spool/cron/crontabs has mode 1730: others may make files there"},
		{name: "the spool is odd", spoil: func(e *examination) { chmod(e, "/var/spool/cron/crontabs", 0o700) }, want: "warning rights: /var/spool/cron/crontabs has mode 0700 instead of 1730"},
		{name: "the socket is a file", files: inventorytest.Files{"/run/cronring/cronring.sock": ""}, want: "problem rights: /run/cronring/cronring.sock is not a socket"},

		{name: "crontab is set-gid", spoil: func(e *examination) { chmod(e, "/usr/bin/cronring", 0o2755) }, want: "problem crontab(1): /usr/bin/crontab is set-id"},
		{name: "an override is left", files: inventorytest.Files{"/var/lib/dpkg/statoverride": "root crontab 2755 /usr/bin/crontab\n"},
			want: "warning crontab(1): dpkg has an override for /usr/bin/crontab that the old cron left"},
		{name: "crontab is another's", files: inventorytest.Files{"/usr/bin/crontab": "-> other", "/usr/bin/other": "x"}, want: "warning crontab(1): /usr/bin/crontab is another program's"},

		{name: "a crontab that all may write", files: inventorytest.Files{"/etc/cron.d/open": "* * * * * root true\n"}, spoil: func(e *examination) { chmod(e, "/etc/cron.d/open", 0o666) },
			want: "problem crontabs: /etc/cron.d/open is refused: INSECURE MODE (group/other writable)"},
		{name: "a crontab with a slip", files: inventorytest.Files{"/etc/cron.d/slip": "61 * * * * root true\n"}, want: "problem crontabs: /etc/cron.d/slip has 1 error"},
		{name: "a name with a dot", files: inventorytest.Files{"/etc/cron.d/x.sh": "* * * * * root true\n"}, want: "warning crontabs: /etc/cron.d/x.sh is ignored: a dot in the name; Debian's cron does the same"},
		{name: "an account that is not there", files: inventorytest.Files{"/etc/cron.d/x": "* * * * * ghost true\n"}, want: "warning crontabs: /etc/cron.d/x: user ghost does not exist"},
		{name: "an account that expired", files: inventorytest.Files{"/etc/cron.d/x": "* * * * * eve true\n"},
			want: "warning crontabs: /etc/cron.d/x: the account eve may not run jobs: account expired on 2026-01-01"},
		{name: "a script with a dot", files: inventorytest.Files{"/etc/cron.daily/x.sh": ""}, want: "warning crontabs: /etc/cron.daily/x.sh never runs: run-parts takes names of letters, digits, _ and - only"},

		{name: "1970", spoil: func(e *examination) { e.Now = func() time.Time { return time.Unix(60, 0) } }, want: "problem clock: the clock shows 1970-01-01"},
		{name: "nobody keeps the clock", spoil: func(e *examination) {
			e.adjtimex = func() (unix.Timex, error) { return unix.Timex{Status: unix.STA_UNSYNC}, nil }
		}, want: "warning clock: the clock is not synchronised"},
		{name: "the hardware clock is local", files: inventorytest.Files{"/etc/adjtime": "0.0 0 0.0\n0\nLOCAL\n"}, want: "warning clock: the hardware clock is kept in local time"},
		{name: "the hardware clock is off", files: inventorytest.Files{"/sys/class/rtc/rtc0/since_epoch": fmt.Sprintln(inventorytest.Noon.Unix() - 7200)}, want: "warning clock: the hardware clock differs by 2h00m"},
		{name: "a zone that is none", files: inventorytest.Files{"/etc/localtime": "-> /usr/share/zoneinfo/Mars/Olympus", "/etc/timezone": "Mars/Olympus"}, want: "problem zone: /etc/localtime leads to Mars/Olympus, which cannot be loaded"},
		{name: "two zones", files: inventorytest.Files{"/etc/timezone": "Asia/Tokyo\n"}, want: "warning zone: /etc/localtime is UTC, /etc/timezone is Asia/Tokyo"},
		{name: "no timers", spoil: func(e *examination) { e.timerfd = func(int) error { return unix.ENOSYS } }, want: "problem timers: the kernel does not provide timers of CLOCK_BOOTTIME"},

		{name: "a listener", files: inventorytest.Files{"/etc/cronring/cronring.toml": "[listen]\naddress = \"127.0.0.1:80\"\n"}},
		{name: "an open listener", files: inventorytest.Files{"/etc/cronring/cronring.toml": "[listen]\naddress = \"0.0.0.0:80\"\n"}, want: "warning listener: listen.address \"0.0.0.0:80\" is not loopback: tokens travel over the network unencrypted"},
		{name: "a token that others can read", files: inventorytest.Files{"/etc/cronring/cronring.toml": "[listen]\naddress = \"[::1]:80\"\n[token.ci]\nfile = \"ci\"\n", "/etc/cronring/ci": "0123456789abcdef0123\n"}, want: "warning listener: token.ci is not valid: /etc/cronring/ci: other users can read or change it (mode 0644): run chmod 0600 on it"},
		{name: "tokens that this user cannot read", files: inventorytest.Files{"/etc/cronring/cronring.toml": "[listen]\naddress = \"127.0.0.1:80\"\n"}, spoil: func(e *examination) { e.privileged = false }, want: "unseen listener: this user cannot read the files of tokens"},

		{name: "no sendmail", spoil: func(e *examination) { os.Remove(e.Path(sendmail)) }, want: "warning mail: no sendmail is found: what 1 entry would mail, 0 of them by MAILTO, goes nowhere"},
		{name: "no sendmail, but a command", files: inventorytest.Files{"/etc/cronring/cronring.toml": "[mail]\ncommand = \"msmtp -t\"\n"}, spoil: func(e *examination) { os.Remove(e.Path(sendmail)) }},
		{name: "no sendmail, and no mail in a file of conf.d", files: inventorytest.Files{"/etc/cronring/conf.d/mail.toml": "mail = { off = true }\n"}, spoil: func(e *examination) { os.Remove(e.Path(sendmail)) }},
		{name: "mail waits", files: inventorytest.Files{"/var/lib/cronring/mail/1": "x"}, spoil: func(e *examination) {
			old := inventorytest.Noon.Add(-3 * time.Hour)
			if err := os.Chtimes(e.Path("/var/lib/cronring/mail/1"), old, old); err != nil {
				panic(err)
			}
		}, want: "warning mail: 1 message could not be handed over, the oldest since 3h00m"},
		{name: "mail was given up", files: inventorytest.Files{"/var/lib/cronring/mail/00000000000000000001.dead": "x", "/var/lib/cronring/mail/00000000000000000002.tmp": "x"},
			want: "warning mail: 1 message could not be delivered"},
		{name: "no room", spoil: func(e *examination) {
			e.statfs = func(string) (unix.Statfs_t, error) { return unix.Statfs_t{Bsize: 4096, Bavail: 1024}, nil }
		}, want: "problem disk: /var/lib/cronring has 4.0 MiB free\nwarning disk: /run/cronring has 4.0 MiB free"},
		{name: "no inodes", spoil: func(e *examination) {
			e.statfs = func(string) (unix.Statfs_t, error) {
				return unix.Statfs_t{Bsize: 4096, Bavail: 1 << 20, Files: 10, Ffree: 1}, nil
			}
		}, want: "problem disk: /var/lib/cronring has 1 inodes free\nproblem disk: /run/cronring has 1 inodes free"},
		{name: "few watches", files: inventorytest.Files{"/proc/sys/fs/inotify/max_user_watches": "64\n"}, want: "warning inotify: a user may watch 64 files only"},
		{name: "all instances used", files: inventorytest.Files{"/proc/sys/fs/inotify/max_user_instances": "8\n",
			"/proc/9/fd/1": "-> anon_inode:inotify", "/proc/9/fd/2": "-> anon_inode:inotify", "/proc/9/fd/3": "-> anon_inode:inotify", "/proc/9/fd/4": "-> anon_inode:inotify",
			"/proc/9/fd/5": "-> anon_inode:inotify", "/proc/9/fd/6": "-> anon_inode:inotify", "/proc/9/fd/7": "-> anon_inode:inotify", "/proc/9/fd/8": "-> /dev/null"},
			want: "warning inotify: root uses 7 of 8 inotify instances"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			units := map[string]string{"cronring.service": goodUnit}
			for name, text := range tc.units {
				units[name] = text
			}
			files := healthy(t)
			for path, text := range tc.files {
				files[path] = text
			}
			e := patient(t, units, files)
			if tc.spoil != nil {
				tc.spoil(e)
			}
			if got := strings.ReplaceAll(printed(t, e), e.Root, ""); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestDoctorInAnOutageOfTheDirectoryService looks at the crontabs of three users
// whom a directory service should know. Nothing advises to delete one.
func TestDoctorInAnOutageOfTheDirectoryService(t *testing.T) {
	const entry = "* * * * * true\n"
	e := patient(t, goodUnits, healthy(t), inventorytest.Files{
		"/var/spool/cron/crontabs/ann": entry, "/var/spool/cron/crontabs/silent": entry, "/var/spool/cron/crontabs/unknown": entry,
	})
	for name, uid := range map[string]int{"ann": 1000, "silent": 2000, "unknown": 2001} {
		chown(e, "/var/spool/cron/crontabs/"+name, uid)
		chmod(e, "/var/spool/cron/crontabs/"+name, 0o600)
	}
	local := e.Find
	e.Find = func(ctx context.Context, name string) (account.Account, error) {
		switch a, err := local(ctx, name); name {
		case "ann": // local: only the groups are asked for
			return a, errors.New("look up groups of ann: signal: killed")
		case "silent":
			return a, errors.New("look up user silent: signal: killed")
		case "unknown": // getent's exit status for a service that is down
			return a, &account.UnknownError{Name: name, Asked: true}
		default:
			return a, err
		}
	}
	if got, want := printed(t, e), "problem crontabs: /var/spool/cron/crontabs/silent is refused: CAN'T LOOK UP USER\n"+
		"problem crontabs: /var/spool/cron/crontabs/unknown is refused: ORPHAN"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, f := range e.examine(t.Context()) {
		if fix := fmt.Sprint(f.Fix); f.Check == "crontabs" && f.Grade == gradeProblem && (!strings.Contains(fix, "keep the file") || !strings.Contains(fix, "getent passwd ")) {
			t.Errorf("%s: fix %q, want to keep the file, and how to check the service", f.What, fix)
		}
	}
}

func unitWith(old, new string) map[string]string {
	return map[string]string{"cronring.service": strings.Replace(goodUnit, old, new, 1)}
}

func chmod(e *examination, path string, mode uint32) {
	if err := syscall.Chmod(e.Path(path), mode); err != nil {
		panic(err)
	}
}

func chown(e *examination, path string, uid int) {
	if err := os.Chown(e.Path(path), uid, -1); err != nil {
		panic(err)
	}
}

// lock writes what the kernel would about a lock on /run/crond.pid.
func lock(e *examination, pid int) {
	var st unix.Stat_t
	if err := unix.Stat(e.Path("/run/crond.pid"), &st); err != nil {
		panic(err)
	}
	text := fmt.Sprintf("1: POSIX  ADVISORY  READ 3 00:01:7 0 EOF\n2: FLOCK  ADVISORY  WRITE %d %02x:%02x:%d 0 EOF\n", pid, unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for path, text := range map[string]string{"locks": text, fmt.Sprintf("%d/stat", pid): fmt.Sprintf("%d (x) S 1", pid)} {
		path = filepath.Join(e.Path("/proc"), path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o444)); err != nil {
			panic(err)
		}
	}
}

// TestDoctorReadsTheKernelsLocks takes the lock for real.
func TestDoctorReadsTheKernelsLocks(t *testing.T) {
	e := patient(t, goodUnits, healthy(t), inventorytest.Files{"/run/crond.pid": "1\n", fmt.Sprintf("/proc/%d/stat", os.Getpid()): "1 (x) S 1"})
	f, err := os.OpenFile(e.Path("/run/crond.pid"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		hosttest.Missing(t, "this kernel does not list its locks: %v", err)
	}
	if !strings.Contains(string(locks), fmt.Sprintf(" %d ", os.Getpid())) {
		hosttest.Missing(t, "/proc/locks does not show this process's lock, as in some sandboxes")
	}
	filetest.Write(t, e.Path("/proc/locks"), string(locks), 0o444)
	if got, want := printed(t, e), fmt.Sprintf("process %d is also active", os.Getpid()); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDoctorFixesOnlyWhatIsHarmless(t *testing.T) {
	units := map[string]string{"cronring.service": goodUnit, "cron.service": "Id=cron.service\nActiveState=active\nUnitFileState=enabled\n"}
	for _, dry := range []bool{true, false} {
		e := patient(t, units, healthy(t))
		chmod(e, "/var/lib/cronring", 0o755)
		chmod(e, "/usr/bin/cronring", 0o2755)
		ask := e.Exec
		var ran []string
		e.Exec = func(ctx context.Context, argv ...string) (string, int, error) {
			if argv[0] == "systemctl" && argv[1] == "show" {
				return ask(ctx, argv...)
			}
			ran = append(ran, strings.ReplaceAll(strings.Join(argv, " "), e.Root, ""))
			return inventory.Run(ctx, argv...)
		}
		stdout, stderr, err := inventorytest.Spoken(t, func(a *cli.App) error {
			return doctor(context.Background(), a, e, &doctorFlags{fix: true, dry: dry, out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}})
		})
		if err != cli.ExitCode(cli.ExitProblems) || !strings.Contains(stderr, "left to you: systemctl disable --now cron\n") {
			t.Errorf("dry %t: got %v and %q, want exit 8, as the second cron is left to a person", dry, err, stderr)
		}
		if dry {
			if len(ran) > 0 || !strings.Contains(stderr, "would run: chmod 0700 ") {
				t.Errorf("a dry run ran %q and said %q", ran, stderr)
			}
			continue
		}
		if want := []string{"chmod 0700 /var/lib/cronring", "chmod u-s,g-s /usr/bin/crontab"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
		if strings.Contains(stdout, "set-id\n") || strings.Contains(stdout, "mode 0755") {
			t.Errorf("after the fix: got %s", stdout)
		}
	}
}

func TestDoctorSaysWhatItMayNotSee(t *testing.T) {
	e := patient(t, goodUnits, healthy(t), inventorytest.Files{"/proc/self/mountinfo": "1 2 0:1 / /proc rw - proc proc rw,hidepid=2\n"})
	e.privileged = false
	e.ask = func(context.Context) (api.Status, error) {
		return api.Status{}, &api.Error{What: "cannot see the status: no", Kind: api.NotAllowed}
	}
	want := "unseen daemon: no\nunseen second cron: no second cron is seen, but processes of other users are hidden here"
	if got := printed(t, e); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDoctorLeavesAnacronAlone counts the lines of anacrontab only where
// cronring runs them.
func TestDoctorLeavesAnacronAlone(t *testing.T) {
	files := inventorytest.Files{"/etc/anacrontab": "1 5 cron.daily true\n1 5 slip\n"}
	for _, tc := range []struct {
		name  string
		files inventorytest.Files
		want  string
	}{
		{"not installed", nil, "problem crontabs: /etc/anacrontab has 1 error\nwarning mail: no sendmail is found: what 2 entries would mail, 0 of them by MAILTO, goes nowhere"},
		{"installed", inventorytest.Files{"/usr/sbin/anacron": "program"}, "warning mail: no sendmail is found: what 1 entry would mail, 0 of them by MAILTO, goes nowhere"},
	} {
		e := patient(t, map[string]string{"cronring.service": goodUnit, "anacron.timer": "Id=anacron.timer\nLoadState=loaded\nActiveState=active\n"}, healthy(t), files, tc.files)
		if err := os.Remove(e.Path(sendmail)); err != nil {
			t.Fatal(err)
		}
		if tc.files != nil {
			chmod(e, "/usr/sbin/anacron", 0o755)
		}
		if got := printed(t, e); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestDoctorStartsNoDaemon holds that a look at a host changes nothing there:
// to connect to the socket of a daemon that is down would start it.
func TestDoctorStartsNoDaemon(t *testing.T) {
	e := patient(t, unitWith("ActiveState=active", "ActiveState=inactive"), healthy(t))
	e.ask = func(context.Context) (api.Status, error) {
		t.Error("the daemon was asked")
		return silent(context.Background())
	}
	e.examine(context.Background())
}

func TestDoctorJSON(t *testing.T) {
	e := patient(t, goodUnits, healthy(t))
	stdout, _, err := inventorytest.Spoken(t, func(a *cli.App) error {
		return doctor(context.Background(), a, e, &doctorFlags{out: &cli.Output{Choice: cli.Choice{Value: cli.FormJSON}}})
	})
	var r examined
	if json.Unmarshal([]byte(stdout), &r) != nil || err != nil || r.V != 1 || len(r.Findings) < len(checks) {
		t.Errorf("got %v, %s", err, stdout)
	}
}

func TestDoctorSignsInASCII(t *testing.T) {
	e := patient(t, goodUnits, healthy(t))
	stdout, _, _ := inventorytest.Spoken(t, func(a *cli.App) error {
		t.Setenv("LC_ALL", "C")
		return doctor(context.Background(), a, e, &doctorFlags{out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}})
	})
	if !strings.HasPrefix(stdout, "+ daemon") {
		t.Errorf("got %q, want + for what is in order", stdout)
	}
	if i := strings.IndexFunc(stdout, func(r rune) bool { return r > 0x7e }); i >= 0 {
		t.Errorf("got %q", stdout[i:])
	}
}

func TestDoctorShowsNoEscapes(t *testing.T) {
	e := patient(t, goodUnits, healthy(t), inventorytest.Hostile)
	stdout, stderr, _ := inventorytest.Spoken(t, func(a *cli.App) error {
		return doctor(context.Background(), a, e, &doctorFlags{fix: true, dry: true, out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}})
	})
	if strings.ContainsAny(stdout+stderr, "\x1b\x07") {
		t.Errorf("got an escape in %q", stdout+stderr)
	}
}

// Doctor reports a ring that cannot work.
func TestDoctorLooksAtTheRing(t *testing.T) {
	toml := "[ring]\nname = \"x\"\nbind = \"127.0.0.1:1\"\nmode = \"strict\"\nvoters = [\"127.0.0.1:1\", \"127.0.0.1:2\", \"127.0.0.1:3\"]\n"
	e := patient(t, goodUnits, healthy(t), inventorytest.Files{"/etc/cronring/cronring.toml": toml})
	e.adjtimex = func() (unix.Timex, error) { return unix.Timex{Status: unix.STA_UNSYNC}, nil }
	want := []string{
		"warning ring: ring.voters: nothing answers at 127.0.0.1:2: connect: connection refused",
		"warning ring: ring.voters: nothing answers at 127.0.0.1:3: connect: connection refused",
		"warning ring: ring.voters: 2 of 3 do not answer: ring jobs wait until 2 do",
		`problem ring: the daemon does not take part in the ring "x" of the configuration`,
		"warning ring: the clock of this member is not synchronised",
	}
	if got := printed(t, e); !strings.Contains(got, strings.Join(want, "\n")) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	e.askRing = func(context.Context) (api.Ring, error) {
		return api.Ring{Name: "x", Self: "a", Members: []api.Member{{ID: "a", Addr: "127.0.0.1:1", State: api.MemberUp}}, Voters: []api.Voter{{ID: "a"}, {ID: "127.0.0.1:2"}}}, nil
	}
	if got, want := printed(t, e), "problem ring: no member is known that is the voter 127.0.0.1:2"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	whole := patient(t, goodUnits, healthy(t))
	whole.askRing = func(context.Context) (api.Ring, error) {
		return api.Ring{Name: "x", Members: []api.Member{{State: api.MemberUp}, {State: api.MemberDown}}}, nil
	}
	if found := checkRing(t.Context(), whole); len(found) != 1 || found[0].Grade != gradeOK || found[0].What != `in the ring "x": 1 of 2 members up` {
		t.Errorf("a ring that works: got %+v", found)
	}
}
