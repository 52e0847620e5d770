package runmail

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

// LostRun is a run that was lost and has no output to be mailed.
type LostRun struct {
	Run   *job.Run
	Entry *crontab.Entry
}

// mailsLoss reports whether the loss of a run is mailed. A job with channels for
// that does not need mail, too.
func mailsLoss(r *job.Run, entry *crontab.Entry) bool {
	o := entry.Options()
	notified := len(o.Notify) > 0 && o.NotifyOn&(option.NoticeLost|option.NoticeFail) != 0
	return r.Verdict == job.VerdictLost && o.Mail != option.MailNever && !notified
}

// Lost sends one letter to each recipient of the mail of these runs: a crash of
// the host ends many runs at once.
func (m *Mailer) Lost(lost []LostRun) {
	byUser := map[string][]LostRun{}
	for _, r := range lost {
		byUser[r.Run.User] = append(byUser[r.Run.User], r)
	}
	for user, runs := range byUser {
		m.lookups.Go(func() {
			if err := m.lostOf(user, runs); err != nil {
				m.Log.Warn("lost runs are not reported by mail", "user", user, "runs", len(runs), "error", err)
			}
		})
	}
}

func (m *Mailer) lostOf(user string, runs []LostRun) error {
	a, err := m.Accounts.Find(context.Background(), user)
	if err != nil {
		return err
	}
	config := m.Config()
	notices, byRecipient := map[string]mail.Notice{}, map[string][]LostRun{}
	for _, r := range runs {
		n := mail.Notice{Account: a, MailTo: r.Entry.Options().MailTo, Env: r.Entry.Env(), Unasked: true}
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
		m.Enqueue(letter)
	}
	return nil
}

// mostLost bounds the runs that a letter names.
const mostLost = 200

func describeLost(runs []LostRun) (subject, text string) {
	subject = fmt.Sprintf("%d runs were lost", len(runs))
	if len(runs) == 1 {
		subject = fmt.Sprintf("run %s of %s was lost", runs[0].Run.ID, runs[0].Run.Job)
	}
	var b strings.Builder
	b.WriteString("The daemon or the host stopped during these runs. How they ended is not known;\nthey count as failed.\n\n")
	for _, r := range runs[:min(len(runs), mostLost)] {
		fmt.Fprintf(&b, "run %s of %s, due %s\n", r.Run.ID, r.Run.Job, job.FormatTime(r.Run.Due, r.Entry.Zone().Location()))
		if why := r.Run.Outcome.Error; why != "" {
			fmt.Fprintf(&b, "    %s\n", why)
		}
	}
	if more := len(runs) - mostLost; more > 0 {
		fmt.Fprintf(&b, "and %d more: cronring history --failed\n", more)
	}
	b.WriteString("\nFor the reasons: cronring why RUN. For what a run printed: cronring logs RUN.\n")
	return subject, b.String()
}
