// Package catalog owns what is installed: the jobs of all crontabs, what
// identifies them, whom they wait for, and how other hosts know them.
//
// A Catalog is made of parsed crontabs and never changes; an edit makes another
// one. It knows nothing of clocks, runs or members. The engine decides with it
// what runs, and a ring whose an occurrence is.
//
// Jobs are numbered from 0 in the order of the crontabs and of their entries.
// An entry with shards= is several jobs: the first has the entry's place, the
// others stand behind all entries of the crontab. Methods that take the number of
// a job panic if there is no such job. A number is valid for one Catalog; Compare
// translates the numbers of the one before.
//
//	crontabs -> installed entries -> identities -> graph -> ring -> held jobs
//	            catalog.go           identity.go   graph.go ring.go catalog.go
//
// Nothing in a crontab makes New fail. A job that must not run is held, and its
// Options say why.
package catalog
