package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// MetricsQuery selects metrics.
type MetricsQuery struct {
	Jobs bool     // include metrics of single jobs
	Refs []string // the jobs; none: all that the user sees
}

// Metrics returns the metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context, q MetricsQuery) ([]byte, error) {
	const purpose = "read metrics"
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errNoAnswer)
	defer cancel()
	v := url.Values{"job": q.Refs}
	if q.Jobs {
		v.Set("jobs", strconv.FormatBool(q.Jobs))
	}
	response, err := c.do(ctx, purpose, http.MethodGet, "/v1/metrics?"+v.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, c.explain(ctx, purpose, err)
	}
	return text, nil
}
