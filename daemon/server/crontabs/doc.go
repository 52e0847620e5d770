// Package crontabs owns the requests that show, list and change crontabs and their stored versions:
// who may change which file, what is refused, and how much of it at a time.
package crontabs
