// Package job owns the types that all other packages share, such as job, run, outcome, decision,
// reason and record. Each concept has one type, from the SQLite row to the row on the screen.
//
// The package is pure data: no clock, no disk, no goroutine. The JSON form of
// each type is part of the product's interface (the control socket, -o json,
// the event stream); testdata/wire.golden freezes it. Fields may be added,
// never renamed or given another meaning.
//
// The engine decides with these types and composes no text: the words that people read about its
// decisions are here, too. The sentences of reasons are in record.go, the words of details in detail_words.go,
// refusals in refusal.go and notices in notice.go; testdata/words.golden lists them. Records have reasons and
// details as facts, which the history stores (testdata/details.golden), and their words are made when somebody
// reads them; see Detail.
package job
