package crontab

import (
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

// settleChannels removes from notify= the channels that the crontab must not
// use. The others are still notified.
func (p *parser) settleChannels(plan *option.Plan, items []item) {
	it := find(items, "notify")
	if p.config.Channels == nil || it == nil || !it.effective() {
		return
	}
	var allowed []string
	for _, name := range plan.Notify {
		why, fix := p.barred(it, name)
		if why == "" {
			allowed = append(allowed, name)
			continue
		}
		plan.Degrade(sentence(it, why))
		p.reportChannel(it, name, why, fix)
	}
	plan.Notify = allowed
}

// barred returns the reason why the entry must not use a channel, or "". Options
// from the sidecar may use any channel, because the administrator sets them.
func (p *parser) barred(it *item, name string) (why, fix string) {
	users, known := p.config.Channels[name]
	switch {
	case name == option.MailChannel:
		return "", ""
	case !known:
		return fmt.Sprintf("channel %s does not exist", diagnostic.Quote(name)), "use `mail` or a channel from the configuration ([channel.NAME])"
	case it.File != "" || p.isRoots() || slices.Contains(users, "*") || slices.Contains(users, p.file.user):
		return "", ""
	}
	return fmt.Sprintf("channel %s is not allowed in crontabs of %s", diagnostic.Quote(name), diagnostic.Quote(p.file.user)), "use `mail`, or ask the administrator to add the user to the channel's users"
}

// reportChannel adds one diagnostic for each item. Without this check a default
// would repeat it for each entry that has options.
func (p *parser) reportChannel(it *item, name, why, fix string) {
	at := fmt.Sprintf("%d:%d %s", it.Line, it.Column, name)
	if it.File != "" || p.barredAt[at] {
		return
	}
	if p.barredAt == nil {
		p.barredAt = map[string]bool{}
	}
	p.barredAt[at] = true
	p.reportItem(it, "B415", why+": it gets no notifications", fix)
}
