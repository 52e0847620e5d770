// Package proc owns what the kernel says in /proc about processes that are not ours to
// wait for.
package proc
