package board

import (
	"context"
	"runtime"
	"slices"
)

// Search tests the regular expressions of a filter. Among many jobs that takes longer than an answer
// to a key may take. A search has copies of the texts, so it can run in another goroutine.
type Search struct {
	exprs        []sought
	shared       [][4]word // by slot
	texts, lower []string  // by word
	version      uint64    // of the texts
}

// sought is a condition with an expression, and what it is tested on.
type sought struct {
	term
	texts []string // by slot, in lower case unless the expression has a capital letter
}

// Found is the result of a search.
type Found struct {
	search *Search
	meets  [][]bool // by term and slot
}

// fewJobs are searched immediately.
const fewJobs = 2048

// search makes a search for the expressions of a filter.
func (b *Board) search(terms []term) *Search {
	n := b.words.len()
	s := &Search{shared: make([][4]word, len(b.cells)), texts: b.words.texts[:n:n], lower: b.words.lower[:n:n], version: b.texts}
	for i := range b.cells {
		s.shared[i] = b.cells[i].shared()
	}
	for _, t := range terms {
		if t.expr != nil {
			s.exprs = append(s.exprs, sought{t, b.textsFor(&t)})
		}
	}
	return s
}

// textsFor returns the texts of jobs that an expression is tested on, by slot.
func (b *Board) textsFor(t *term) []string {
	texts := make([]string, len(b.cells))
	for i := range b.cells {
		if c := &b.cells[i]; t.exact {
			texts[i] = c.text()
		} else {
			texts[i] = c.lower()
		}
	}
	return texts
}

// shared returns the words that a filter without a field is tested on.
func (c *cell) shared() [4]word {
	return [4]word{c.words[textSchedule], c.words[textUser], c.words[textCrontab], c.words[textLabels]}
}

// Run searches until ctx ends.
func (s *Search) Run(ctx context.Context) (Found, error) {
	f := Found{search: s}
	for i := range s.exprs {
		meets, err := s.test(ctx, &s.exprs[i])
		if err != nil {
			return Found{}, err
		}
		f.meets = append(f.meets, meets)
	}
	return f, nil
}

// test marks the jobs that meet an expression.
func (s *Search) test(ctx context.Context, t *sought) ([]bool, error) {
	hold, err := marked(ctx, len(s.texts), func(i int) bool { return t.inText(s.texts[i], s.lower[i]) })
	if err != nil {
		return nil, err
	}
	return marked(ctx, len(t.texts), func(i int) bool {
		return slices.ContainsFunc(s.shared[i][:], func(w word) bool { return hold[w] }) || t.inText(t.texts[i], t.texts[i])
	})
}

// marked tests n items until ctx ends. It lets other goroutines run in between, because there may be
// only one processor.
func marked(ctx context.Context, n int, test func(i int) bool) ([]bool, error) {
	const some = 64
	meets := make([]bool, n)
	for i := range meets {
		if i%some == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			runtime.Gosched()
		}
		meets[i] = test(i)
	}
	return meets, nil
}

// Search returns the search that the list waits for, or nil. Its result is passed to Take.
func (l *List) Search() *Search { return l.search }

// Searching reports whether a search is under way, so that the list still shows the jobs of the
// previous filter.
func (l *List) Searching() bool {
	return slices.ContainsFunc(l.terms, func(t term) bool { return t.expr != nil && t.meets == nil })
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
			t.meets, t.version, f.meets = f.meets[0], f.search.version, f.meets[1:]
		}
	}
}

// seek makes a search if texts have changed since the last one. Few jobs are searched immediately.
func (l *List) seek() {
	outdated := func(t term) bool { return t.expr != nil && (t.meets == nil || t.version != l.board.texts) }
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
				t.meets, t.version = before.meets, before.version
			}
		}
	}
	l.terms, l.search = terms, nil
}
