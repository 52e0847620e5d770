package server

import (
	"net/http"

	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/listen"
	"github.com/cronring/cronring/daemon/server/call"
)

// Webhooks returns the server of the listener for callers with a token.
func (s *Server) Webhooks(tokens func() map[string]config.Token) *listen.Server {
	return listen.New(listen.Options{
		Tokens: tokens, View: s.daemon.View, Ask: s.daemon.Ask, Metrics: s.allMetrics, Audit: s.daemon.Audit, Now: s.now, Log: s.log,
	})
}

// allMetrics answers with all metrics, as for root.
func (s *Server) allMetrics(w http.ResponseWriter, r *http.Request) {
	root := func() call.Peer { return call.Peer{Name: "root", Admin: true} }
	c := s.newCall(w, r.WithContext(call.WithPeer(r.Context(), root, func() int { return 0 })))
	defer c.End()
	if err := s.monitor.Metrics(r.Context(), c); err != nil {
		c.Fail(err)
	}
}
