package notify

// teamsMessage is the body for a webhook of Microsoft Teams: a message with one Adaptive Card
// (adaptivecards.io/explorer, version 1.4).
type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Schema  string         `json:"$schema"`
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Body    []teamsElement `json:"body"`
}

type teamsElement struct {
	Type     string      `json:"type"`
	Text     string      `json:"text,omitempty"`
	Weight   string      `json:"weight,omitempty"`
	Color    string      `json:"color,omitempty"`
	FontType string      `json:"fontType,omitempty"`
	Wrap     bool        `json:"wrap,omitempty"`
	Facts    []teamsFact `json:"facts,omitempty"`
}

type teamsFact struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

func newTeamsMessage(m *Message) teamsMessage {
	color := "attention"
	if m.isGood() {
		color = "good"
	}
	facts := teamsElement{Type: "FactSet"}
	for _, f := range m.facts() {
		switch f.name {
		case "Host", "Job", "User", "Due", "Outcome", "Streak", "Desc", "Owner":
			if f.value != "" {
				facts.Facts = append(facts.Facts, teamsFact{f.name, plainMarkdown(f.value)})
			}
		}
	}
	body := []teamsElement{{Type: "TextBlock", Text: plainMarkdown(m.headline()), Weight: "bolder", Color: color, Wrap: true}, facts}
	if m.Output != "" {
		body = append(body, teamsElement{Type: "TextBlock", Text: plainMarkdown(m.Output), FontType: "monospace", Wrap: true})
	}
	return teamsMessage{Type: "message", Attachments: []teamsAttachment{{
		ContentType: "application/vnd.microsoft.card.adaptive",
		Content:     teamsCard{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4", Body: body},
	}}}
}
