package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The headers of a request. The signature is sha256= and the HMAC-SHA256 of the
// body under the key of secret-file, in hex; the ID is that of the message.
const (
	signatureHeader = "Cronring-Signature"
	idHeader        = "Cronring-Notice"
)

// failure describes why a channel did not accept a message.
type failure struct {
	why     string        // any user may read it in the status: it contains no secret
	said    string        // the other side's error text, for root and the log
	final   bool          // another try would fail in the same way
	untried bool          // nothing was tried
	silent  bool          // the channel did not answer at all, and would not for other messages
	after   time.Duration // the delay that it requested
}

// full returns the reason with the other side's error text.
func (f *failure) full() string {
	if f.said == "" {
		return f.why
	}
	return f.why + ": " + f.said
}

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
func (n *Notifier) post(ctx context.Context, c *Channel, m *Message) *failure {
	request, err := c.request(m)
	if err != nil {
		return &failure{why: err.Error(), final: errors.Is(err, errTemplate)}
	}
	request.Header.Set("User-Agent", "cronring/"+n.options.Version)
	answer, err := n.client.Do(request.WithContext(ctx))
	if err != nil {
		return &failure{why: place(request.URL) + ": " + bare(err, request.URL), silent: true}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // the text does not matter, but the connection can be reused
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &failure{
		why:   fmt.Sprintf("%s answered %d %s", place(request.URL), answer.StatusCode, http.StatusText(answer.StatusCode)),
		final: !worthAnother(answer.StatusCode),
		after: retryAfter(answer.Header.Get("Retry-After"), time.Now()),
	}
}

var errTemplate = errors.New("template")

// request builds the HTTP request for a message. It reads the channel's files each time, so that
// they can be changed without a reload.
func (c *Channel) request(m *Message) (*http.Request, error) {
	where := c.URL
	if c.URLFile != "" {
		text, err := readSecret(c.URLFile)
		if err != nil {
			return nil, fmt.Errorf("url-file: %w", err)
		}
		where = string(text)
	}
	u, err := parseURL(where)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	t, err := c.template()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTemplate, err)
	}
	body, err := c.render(t, m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTemplate, err)
	}
	request, err := http.NewRequest(http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("url: it makes no sense")
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range c.Header {
		request.Header.Set(name, value)
	}
	request.Header.Set(idHeader, m.ID)
	if c.SecretFile == "" {
		return request, nil
	}
	key, err := readSecret(c.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("secret-file: %w", err)
	}
	request.Header.Set(signatureHeader, sign(key, body))
	return request, nil
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
