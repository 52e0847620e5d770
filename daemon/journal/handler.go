package journal

import (
	"context"
	"log/slog"
	"slices"
)

// Handler makes entries of what is logged with log/slog.
type Handler struct {
	put    func(*Entry)
	level  slog.Leveler
	attrs  []Attr
	prefix string // of open groups
}

// NewHandler returns a handler that passes each entry from level on to put; nil is slog.LevelInfo.
// put is called by the logging goroutine.
func NewHandler(put func(*Entry), level slog.Leveler) *Handler {
	if level == nil {
		level = slog.LevelInfo
	}
	return &Handler{put: put, level: level}
}

// Enabled reports whether entries of a level are taken.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle passes the entry to put.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	e := &Entry{At: r.Time, Level: r.Level, Message: r.Message, Attrs: slices.Clone(h.attrs)}
	r.Attrs(func(a slog.Attr) bool {
		e.Attrs = appendAttr(e.Attrs, h.prefix, a)
		return true
	})
	h.put(e)
	return nil
}

// WithAttrs is a handler whose entries have the attributes, too.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		more.attrs = appendAttr(more.attrs, h.prefix, a)
	}
	return &more
}

// WithGroup is a handler that puts a name before those of attributes.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	more := *h
	more.prefix += name + "."
	return &more
}

func appendAttr(attrs []Attr, prefix string, a slog.Attr) []Attr {
	value := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return attrs
	}
	if value.Kind() != slog.KindGroup {
		return append(attrs, Attr{prefix + a.Key, value.String()})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, inner := range value.Group() {
		attrs = appendAttr(attrs, prefix, inner)
	}
	return attrs
}
