package crontab

import "github.com/cronring/cronring/crontab/diagnostic"

// The types of diagnostics, which Parse returns.
type (
	Diagnostic = diagnostic.Diagnostic
	Severity   = diagnostic.Severity
	Code       = diagnostic.Code
)

// The severities; see package diagnostic.
const (
	Note    = diagnostic.Note
	Warning = diagnostic.Warning
	Error   = diagnostic.Error

	CodeMark  = diagnostic.CodeMark
	CodeLimit = diagnostic.CodeLimit
)
