package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/mail"
)

// lostRun is a run that was lost and has no output to be mailed.
type lostRun struct {
	run   *job.Run
	entry *crontab.Entry
}

// mailsLoss reports whether the loss of a run is mailed. A job with channels for
// that does not need mail, too.
func mailsLoss(r *job.Run, entry *crontab.Entry) bool {
	o := entry.Options()
	notified := len(o.Notify) > 0 && o.NotifyOn&(option.NoticeLost|option.NoticeFail) != 0
	return r.Verdict == job.VerdictLost && o.Mail != option.MailNever && !notified
}

// mailLost sends one letter to each recipient of the mail of these runs: a crash of
// the host ends many runs at once.
func (l *loop) mailLost(lost []lostRun) {
	byUser := map[string][]lostRun{}
	for _, r := range lost {
		byUser[r.run.User] = append(byUser[r.run.User], r)
	}
	for user, runs := range byUser {
		l.chores.Go(func() {
			if err := l.mailLostOf(user, runs); err != nil {
				l.log.Warn("lost runs are not reported by mail", "user", user, "runs", len(runs), "error", err)
			}
		})
	}
}

func (l *loop) mailLostOf(user string, runs []lostRun) error {
	a, err := l.accounts.Find(context.Background(), user)
	if err != nil {
		return err
	}
	config := l.mailConfig()
	notices, byRecipient := map[string]mail.Notice{}, map[string][]lostRun{}
	for _, r := range runs {
		n := mail.Notice{Account: a, MailTo: r.entry.Options().MailTo, Env: r.entry.Env(), Unasked: true}
		if to := n.Recipient(config); to != "" {
			notices[to] = n
			byRecipient[to] = append(byRecipient[to], r)
		}
	}
	for _, to := range slices.Sorted(maps.Keys(notices)) {
		n := notices[to]
		n.Subject, n.Text = describeLost(byRecipient[to])
		letter, err := mail.ComposeNotice(config, n)
		if err != nil {
			return err
		}
		l.post.Give(letter)
	}
	return nil
}

// mostLost bounds the runs that a letter names.
const mostLost = 200

func describeLost(runs []lostRun) (subject, text string) {
	subject = fmt.Sprintf("%d runs were lost", len(runs))
	if len(runs) == 1 {
		subject = fmt.Sprintf("run %s of %s was lost", runs[0].run.ID, runs[0].run.Job)
	}
	var b strings.Builder
	b.WriteString("The daemon or the host stopped during these runs. How they ended is not known;\nthey count as failed.\n\n")
	for _, r := range runs[:min(len(runs), mostLost)] {
		due := r.run.Due.In(r.entry.Zone().Location()).Format("Mon 2 Jan 2006 15:04:05 MST")
		fmt.Fprintf(&b, "run %s of %s, due %s\n", r.run.ID, r.run.Job, due)
		if why := r.run.Outcome.Error; why != "" {
			fmt.Fprintf(&b, "    %s\n", why)
		}
	}
	if more := len(runs) - mostLost; more > 0 {
		fmt.Fprintf(&b, "and %d more: cronring history --failed\n", more)
	}
	b.WriteString("\nFor the reasons: cronring why RUN. For what a run printed: cronring logs RUN.\n")
	return subject, b.String()
}
