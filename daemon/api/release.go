package api

import "runtime/debug"

// release is set by the linker: see the Makefile.
var release string

// Release is the version of the programs. What the Makefile did not build has
// that of the module, as the Go command writes it down.
func Release() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
