package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// zoneFlags are --tz and --utc.
type zoneFlags struct {
	name string
	utc  bool
}

func (a *app) addZone(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&a.zone.name, "tz", "", "`ZONE` "+use+" (default: the host's)")
	cmd.Flags().BoolVar(&a.zone.utc, "utc", false, "the same as --tz UTC")
	cmd.MarkFlagsMutuallyExclusive("tz", "utc")
}

// location gives the zone that the flags name, else the host's.
func (a *app) location() (*time.Location, error) {
	switch {
	case a.zone.utc:
		return time.UTC, nil
	case a.zone.name == "":
		return hostZone(), nil
	}
	loc, err := loadZone(a.zone.name)
	if err != nil {
		return nil, badUsage(fmt.Sprintf("use zone %q", a.zone.name), err.Error(), "name a zone as in --tz Europe/Berlin")
	}
	return loc, nil
}

// loadZone looks a zone up by its IANA name. Go's two special names are not
// IANA's: "" would be UTC and "Local" the host's.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return time.LoadLocation(name)
}

// hostZone is the host's zone under its real name. Go calls it "Local", which
// tells a reader nothing; that name stays only when the real one is not known.
func hostZone() *time.Location {
	name, set := os.LookupEnv("TZ")
	if set && name == "" {
		return time.UTC
	}
	if !set {
		target, err := os.Readlink("/etc/localtime")
		if err != nil {
			return time.Local
		}
		_, name, _ = strings.Cut(target, "zoneinfo/")
	}
	if loc, err := loadZone(strings.TrimPrefix(name, ":")); err == nil {
		return loc
	}
	return time.Local
}
