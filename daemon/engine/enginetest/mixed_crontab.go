package enginetest

import (
	"fmt"
	"strconv"
	"strings"
)

// mixes are the options above the lines of a Mixed crontab.
var mixes = []string{
	"", "",
	"#@ overlap=skip timeout=10m\n",
	"#@ retry=3 backoff=10s..5m notify=ops\n",
	"#@ catchup=once deadline=2h keep=100\n",
	"#@ jitter=30s priority=4\n",
	"#@ name=job%[1]d overlap=queue\n",
	"#@ name=job%[1]d after=job%[2]d wait=1h\n",
	"#@ every=7m phase=1m\n",
	"#@ tz=Europe/Berlin overlap=queue\n",
	"#@ if=/bin/true timeout=1h\n",
	"#@ pool=wan breaker=3/1h\n",
}

// Mixed returns a crontab with n jobs, numbered from first, and options of all kinds.
// account is the user column of a system crontab, or "". Except for jobs with
// every=, no job is due from 08:00 to 23:59.
func Mixed(first, n int, account string) string {
	var b strings.Builder
	for i := first; i < first+n; i++ {
		if mix := mixes[i%len(mixes)]; strings.Contains(mix, "%[2]") && i == first {
			b.WriteString("#@ overlap=skip\n") // the job before it is in another crontab
		} else if strings.Contains(mix, "%") {
			b.WriteString(strings.NewReplacer("%[1]d", strconv.Itoa(i), "%[2]d", strconv.Itoa(i-1)).Replace(mix))
		} else {
			b.WriteString(mix)
		}
		fmt.Fprintf(&b, "%d %d * * * %s/usr/local/bin/job --number %d\n", i%60, i/60%8, account, i)
	}
	return b.String()
}

// Plain is Mixed without options.
func Plain(first, n int) string {
	var b strings.Builder
	for i := first; i < first+n; i++ {
		fmt.Fprintf(&b, "%d %d * * * /usr/local/bin/job --number %d\n", i%60, i/60%8, i)
	}
	return b.String()
}
