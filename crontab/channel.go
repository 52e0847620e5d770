package crontab

import (
	"fmt"
	"slices"
)

// MailChannel is the channel that is always there: a letter to whom the mail of
// the job goes. No configuration declares it, and every table may name it.
const MailChannel = "mail"

// settleChannels leaves out of notify= what the table may not name. The other
// channels are told all the same.
func (p *parser) settleChannels(plan *plan, items []item) {
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
		plan.degrade(sentence(it, why))
		p.remarkChannel(it, name, why, fix)
	}
	plan.Notify = allowed
}

// barred is why a channel is not to be told of the entry, or "". What the
// sidecar says is the administrator's word, who also says whose tables may name
// a channel.
func (p *parser) barred(it *item, name string) (why, fix string) {
	users, known := p.config.Channels[name]
	switch {
	case name == MailChannel:
		return "", ""
	case !known:
		return fmt.Sprintf("there is no channel %s", quote(name)), "name one that the configuration has as [channel.NAME], or `mail`"
	case it.File != "" || p.isRoots() || slices.Contains(users, "*") || slices.Contains(users, p.table.user):
		return "", ""
	}
	return fmt.Sprintf("the channel %s is not for tables of %s", quote(name), quote(p.table.user)), "name `mail`, or ask the administrator to add the account to its users"
}

// remarkChannel says it once for an item: a default is settled anew for each
// entry with options of its own, and one of the sidecar for each table.
func (p *parser) remarkChannel(it *item, name, why, fix string) {
	at := fmt.Sprintf("%d:%d %s", it.Line, it.Column, name)
	if it.File != "" || p.barredAt[at] {
		return
	}
	if p.barredAt == nil {
		p.barredAt = map[string]bool{}
	}
	p.barredAt[at] = true
	p.remarkItem(it, "B415", why+": it is not told", fix)
}
