// Package man owns the manual pages that are written by hand, which it embeds into the program
// cronring.
package man

import "embed"

// Pages contains the pages by file name, such as crontab.5.
//
//go:embed *.[1-9]
var Pages embed.FS
