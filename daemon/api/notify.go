package api

import "context"

// NotifyRequest asks for a test notice through a channel.
type NotifyRequest struct {
	Channel string `json:"channel"`
}

// Notified says that a channel took a test notice; one of mail has it queued.
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
