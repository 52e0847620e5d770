package board

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/api"
)

// Search tests the regular expressions of a filter. Among many jobs that takes longer than an answer
// to a key may take, so that a search can run in another goroutine.
type Search struct {
	exprs []term
	index *index
	rows  []*api.Row // of the index
}

// Found is the result of a search.
type Found struct {
	search *Search
	found  []map[*line]bool // by expression
}

// fewJobs are searched immediately.
const fewJobs = 2048

// search makes a search for the expressions of a filter.
func (b *Board) search(terms []term) *Search {
	s := &Search{index: b.inOrder()}
	for _, l := range s.index.lines {
		s.rows = append(s.rows, l.row)
	}
	for _, t := range terms {
		if t.expr != nil {
			s.exprs = append(s.exprs, t)
		}
	}
	return s
}

// Run searches until ctx ends. It lets other goroutines run in between, because there may be only
// one processor.
func (s *Search) Run(ctx context.Context) (Found, error) {
	const some = 64
	f := Found{search: s}
	for i := range s.exprs {
		found := map[*line]bool{}
		for k, l := range s.index.lines {
			if k%some == 0 {
				if err := ctx.Err(); err != nil {
					return Found{}, err
				}
				runtime.Gosched()
			}
			if s.meets(&s.exprs[i], k) {
				found[l] = true
			}
		}
		f.found = append(f.found, found)
	}
	return f, nil
}

// meets reports whether job k meets an expression.
func (s *Search) meets(t *term, k int) bool {
	text := s.index.text(k)
	if t.exact {
		texts := textsOf(s.rows[k])
		text = strings.Join(texts[:], "\n")
	}
	return t.matches(text)
}

// matches reports whether a text, in lower case unless the expression is exact, matches the expression.
func (t *term) matches(text string) bool {
	return strings.Contains(text, t.literal) && t.expr.MatchString(text)
}

// Search returns the search that the list waits for, or nil. Its result is passed to Take.
func (l *List) Search() *Search { return l.search }

// Searching reports whether a search is under way, so that the list still shows the jobs of the
// previous filter.
func (l *List) Searching() bool {
	return slices.ContainsFunc(l.terms, func(t term) bool { return t.expr != nil && t.found == nil })
}

// Take takes in what a search has found, unless the list no longer waits for it. If only texts have
// changed since the search before, the next Refresh lists it.
func (l *List) Take(f Found) {
	if f.search == nil || f.search != l.search {
		return
	}
	first := l.Searching()
	l.keep(f)
	if l.stale = true; first {
		l.fill()
	}
}

// keep stores what a search has found.
func (l *List) keep(f Found) {
	l.search = nil
	for i := range l.terms {
		if t := &l.terms[i]; t.expr != nil {
			t.found, t.version, f.found = f.found[0], f.search.index.version, f.found[1:]
		}
	}
}

// seek makes a search if texts have changed since the last one. Few jobs are searched immediately.
func (l *List) seek() {
	outdated := func(t term) bool { return t.expr != nil && (t.found == nil || t.version != l.board.texts) }
	if l.search != nil || !slices.ContainsFunc(l.terms, outdated) {
		return
	}
	l.search = l.board.search(l.terms)
	if l.board.Len() <= fewJobs {
		f, _ := l.search.Run(context.Background())
		l.keep(f)
	}
}

// use replaces the conditions of the list. Expressions that it had before are not searched again.
func (l *List) use(terms []term) {
	for i := range terms {
		for _, before := range l.terms {
			if t := &terms[i]; t.expr != nil && before.expr != nil && t.expr.String() == before.expr.String() {
				t.found, t.version = before.found, before.version
			}
		}
	}
	l.terms, l.search = terms, nil
}
