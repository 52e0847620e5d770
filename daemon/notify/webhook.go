package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/outbox"
)

// The headers of a request. The signature is sha256= and the HMAC-SHA256 of the
// body under the key of secret-file, in hex; the ID is that of the message.
const (
	signatureHeader = "Cronring-Signature"
	idHeader        = "Cronring-Notice"
)

// newClient makes the client of all webhooks. Certificates are verified by the
// host's authorities; roots takes their place in tests.
func newClient(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        30 * time.Second,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: follow,
	}
}

// follow allows a redirect within the host that the administrator named and
// that keeps the request what it is. Any other is the answer itself, which is
// no success.
func follow(next *http.Request, before []*http.Request) error {
	first := before[0]
	same := next.URL.Host == first.URL.Host && (next.URL.Scheme == first.URL.Scheme || next.URL.Scheme == "https")
	if !same || next.Method != first.Method || len(before) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

// post sends a message to a webhook once.
func (n *Notifier) post(ctx context.Context, c *Channel, m *Message) *outbox.Failure {
	request, err := c.request(m)
	switch {
	case err != nil:
		return &outbox.Failure{Why: err.Error(), Final: errors.Is(err, errTemplate)}
	case request == nil:
		return nil
	}
	request.Header.Set("User-Agent", "cronring/"+n.options.Version)
	answer, err := n.client.Do(request.WithContext(ctx))
	if err != nil {
		return &outbox.Failure{Why: place(request.URL) + ": " + bare(err, request.URL), Silent: true}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // the text does not matter, but the connection can be reused
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &outbox.Failure{
		Why:   fmt.Sprintf("%s answered %d %s", place(request.URL), answer.StatusCode, http.StatusText(answer.StatusCode)),
		Final: !worthAnother(answer.StatusCode),
		After: retryAfter(answer.Header.Get("Retry-After"), time.Now()),
	}
}

var errTemplate = errors.New("template")

// request builds the HTTP request for a message, or nil if the service gets nothing of its event. It
// reads the channel's files each time, so that they can be changed without a reload.
func (c *Channel) request(m *Message) (*http.Request, error) {
	u, err := c.url(m)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	var key []byte
	if c.SecretFile != "" {
		if key, err = readSecret(c.SecretFile); err != nil {
			return nil, fmt.Errorf("secret-file: %w", err)
		}
	}
	body, err := c.body(m, u, key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTemplate, err)
	}
	if body == nil {
		return nil, nil
	}
	request, err := http.NewRequest(http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("url: it makes no sense")
	}
	request.Header.Set("Content-Type", "application/json")
	if c.Type == Ping {
		request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	for name, value := range c.Header {
		request.Header.Set(name, value)
	}
	request.Header.Set(idHeader, m.ID)
	if c.Type == Webhook && key != nil {
		request.Header.Set(signatureHeader, sign(key, body))
	}
	return request, nil
}

// url returns the address for a message.
func (c *Channel) url(m *Message) (*url.URL, error) {
	where := c.URL
	if c.URLFile != "" {
		text, err := readSecret(c.URLFile)
		if err != nil {
			return nil, err
		}
		where = string(text)
		if err := checkURL(where); err != nil {
			return nil, err
		}
	}
	if where == "" {
		where = pagerDutyURL
	}
	return m.url(where)
}

// body returns what is sent for a message, and changes the URL as the service requires. nil means
// that nothing is sent.
func (c *Channel) body(m *Message, u *url.URL, key []byte) ([]byte, error) {
	switch c.Type {
	case Ping:
		return pingBody(m, u), nil
	case Slack:
		return json.Marshal(newSlackMessage(m))
	case Teams:
		return json.Marshal(newTeamsMessage(m))
	case Ntfy:
		return json.Marshal(newNtfyMessage(m, u))
	case PagerDuty:
		if e := newPagerDutyEvent(m, string(key)); e != nil {
			return json.Marshal(e)
		}
		return nil, nil
	}
	t, err := c.template()
	if err != nil {
		return nil, err
	}
	return c.render(t, m)
}

func sign(key, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// place returns the parts of a URL that are not secret.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host }

// bare is an error without the URL, which net/http puts in front and an answer
// of the other side may bring back.
func bare(err error, u *url.URL) string {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	text := oneLine(err.Error())
	hidden := []string{u.Path, u.EscapedPath(), u.RawQuery, u.Fragment}
	for _, values := range u.Query() {
		hidden = append(hidden, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		hidden = append(hidden, u.User.String(), u.User.Username(), password)
	}
	for _, secret := range hidden {
		if len(secret) > 1 {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	return clip(text)
}

// worthAnother reports whether another try may succeed after this status.
func worthAnother(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(longestRetry/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestRetry)
}
