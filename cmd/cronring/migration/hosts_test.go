package migration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/daemon/filetest"
)

// stockDebian is a stock host with ten packages that bring crontabs, three users, and
// one file of each kind that is not read.
func stockDebian(t *testing.T) inventorytest.Files {
	t.Helper()
	files := inventorytest.Files{
		"/etc/localtime":             "-> /usr/share/zoneinfo/Europe/Berlin",
		"/etc/crontab":               shipped(t, "debian-crontab"),
		"/etc/cron.d/cron-apt":       "#\n# Regular cron jobs for the cron-apt package\n#\n# Every night at 4 o'clock.\n0 4\t* * *\troot\ttest -x /usr/sbin/cron-apt && /usr/sbin/cron-apt\n",
		"/etc/cron.d/backup.sh":      "0 5 * * * root backup\n",
		"/etc/cron.d/.placeholder":   "# DO NOT EDIT OR REMOVE\n",
		"/etc/cron.d/stranger":       "0 5 * * * nobodyhere true\n5 5 * * * root true\n6 5 * * * eve true\n",
		"/etc/cron.daily/apt-compat": "#!/bin/sh\n", "/etc/cron.daily/report.sh": "#!/bin/sh\n",
		"/etc/default/cron": "# Cron configuration options\nREAD_ENV=\"yes\"\n#EXTRA_OPTS=\"\"\nEXTRA_OPTS='-L 5 -n'\n",
		"/etc/anacrontab": "SHELL=/bin/sh\nHOME=/root\nLOGNAME=root\n\n1\t5\tcron.daily\trun-parts --report /etc/cron.daily\n" +
			"7\t10\tcron.weekly\trun-parts --report /etc/cron.weekly\n@monthly\t15\tcron.monthly\trun-parts --report /etc/cron.monthly\n",
		"/var/spool/anacron/cron.daily":  "20261121\n",
		"/var/spool/anacron/cron.weekly": "20261101\n",
		"/var/spool/cron/crontabs/root":  "@reboot /usr/local/sbin/firewall\n",
		"/var/spool/cron/crontabs/ann": "CRON_TZ=America/New_York\n30 2 * * * backup\nCRON_TZ=\n0-59/20 2 * * 6-0 sed 's/\\\\/x/' <in\n" +
			"0~30 4 * * * spread\n1,3 5* * * * junk\n#@ catchup=once\n-15 6 * * * late\n",
		"/var/spool/cron/crontabs/bob":                            "0 4 * * * date +\\%F\n61 * * * * broken\n0 4 * * * date +\\%F\n",
		"/var/spool/cron/crontabs/ghost":                          "* * * * * boo\n",
		"/usr/lib/systemd/system/logrotate.timer":                 "[Unit]\nDescription=Daily rotation of log files\n\n[Timer]\nOnCalendar=daily\nAccuracySec=1h\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
		"/usr/lib/systemd/system/logrotate.service":               "[Unit]\nDescription=Rotate log files\n[Service]\nType=oneshot\nExecStart=/usr/sbin/logrotate /etc/logrotate.conf\nNice=19\n",
		"/etc/systemd/system/timers.target.wants/logrotate.timer": "-> /usr/lib/systemd/system/logrotate.timer",
	}
	for _, name := range []string{"anacron", "certbot", "e2scrub_all", "logcheck", "mdadm", "munin-node", "php", "popularity-contest", "sysstat"} {
		files["/etc/cron.d/"+name] = shipped(t, name)
	}
	return files
}

// stockRHEL returns the files of a stock Red Hat host.
func stockRHEL(t *testing.T) inventorytest.Files {
	t.Helper()
	return inventorytest.Files{
		"/etc/redhat-release":     "Red Hat Enterprise Linux release 9.4 (Plow)\n",
		"/etc/localtime":          "-> /usr/share/zoneinfo/America/New_York",
		"/etc/crontab":            shipped(t, "rhel-crontab"),
		"/etc/cron.d/0hourly":     shipped(t, "rhel-0hourly"),
		"/etc/cron.d/old.rpmsave": "* * * * * root true\n",
		"/etc/cron.d/junk":        "5# * * * * root true\n0 3 * * * root true\n",
		"/etc/sysconfig/crond":    "# Settings for the CRON daemon.\n# CRONDARGS= :  any extra command-line startup arguments for crond\nCRONDARGS=\"-s -m off -c\"\nMAILFROM=cron@example.org\n",
		"/etc/anacrontab": "SHELL=/bin/sh\nPATH=/sbin:/bin:/usr/sbin:/usr/bin\nMAILTO=root\nRANDOM_DELAY=45\nSTART_HOURS_RANGE=3-22\n" +
			"1\t5\tcron.daily\t\tnice run-parts /etc/cron.daily\n7\t25\tcron.weekly\t\tnice run-parts /etc/cron.weekly\n@monthly 45\tcron.monthly\t\tnice run-parts /etc/cron.monthly\n",
		"/var/spool/cron/ann": "30 2,3 * * * backup\n",
	}
}

// shipped is a crontab as a package ships it.
func shipped(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/crontab/real/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// golden compares text with a file of testdata/import, or writes that with
// UPDATE_SCRIPTS=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("../../../testdata/import", name)
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		filetest.Write(t, path, got, 0o644)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
