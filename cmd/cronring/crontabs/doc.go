// Package crontabs owns the commands that change crontabs and show their versions: add,
// set, rm, edit, apply, reload, diff, revisions and undo.
package crontabs
