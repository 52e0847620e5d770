// Package catalog owns the installed jobs of all crontabs, with their identities, the jobs that they
// wait for, and how other hosts identify them.
//
// A Catalog is made from parsed crontabs and never changes; an edit makes another one. It
// does not depend on clocks, runs or members. The engine uses it to decide what runs, and
// a ring to compute the owner of an occurrence.
//
// Jobs are numbered from 0 in the order of the crontabs and of their entries. An entry
// with shards= is several jobs: the first has the entry's place, the others come after
// all entries of the crontab. Methods that take the number of a job panic if there is no
// such job. A number is valid for one Catalog; Compare translates the numbers of the
// previous catalog.
//
//	crontabs -> installed entries -> identities -> graph -> ring -> held jobs
//	            catalog.go           identity.go   graph.go ring.go catalog.go
//
// Nothing in a crontab makes New fail. A job that must not run is held, and its Options
// contain the reason.
package catalog
