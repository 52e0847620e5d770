package api

import "context"

// NotifyRequest requests a test notification through a channel.
type NotifyRequest struct {
	Channel string `json:"channel"`
}

// Notified reports that a channel accepted a test notification; an email channel has queued it.
type Notified struct {
	V       int    `json:"v"`
	Channel string `json:"channel"`
}

// Notify sends a test notice through a channel, and returns when the channel
// took it or did not.
func (c *Client) Notify(ctx context.Context, channel string) error {
	_, err := post[Notified](ctx, c, "send a test notice", "/v1/notify", NotifyRequest{channel})
	return err
}
