package notify

import "strings"

// slackMessage is the body for an incoming webhook of Slack (docs.slack.dev, "Sending messages using
// incoming webhooks"). A phone shows Text.
type slackMessage struct {
	Text   string       `json:"text"`
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type string    `json:"type"`
	Text slackText `json:"text"`
}

type slackText struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Verbatim bool   `json:"verbatim"` // Slack looks for no links, channels and mentions in it
}

// longestSlackText is the limit of a section, in characters.
const longestSlackText = 3000

var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// newSlackMessage escapes foreign text, so that it cannot mention anybody or hide a link.
func newSlackMessage(m *Message) slackMessage {
	head := slackEscapes.Replace(m.headline())
	section := func(before, text, after string) slackBlock {
		text = cut(text, (longestSlackText-len(before)-len(after))/len("&amp;"))
		return slackBlock{"section", slackText{"mrkdwn", before + slackEscapes.Replace(text) + after, true}}
	}
	message := slackMessage{Text: head, Blocks: []slackBlock{section("", m.headline(), "")}}
	if m.Output != "" {
		message.Blocks = append(message.Blocks, section("```", strings.ReplaceAll(end(m.Output, 500), "```", "'''"), "```"))
	}
	return message
}
