//go:build !cgo

package starter

const cLibrary = false
