// Package revision owns the stored versions of crontab files: which are kept, and for how long.
package revision
