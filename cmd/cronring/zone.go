package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/spool"
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
		return spool.ThisHost().Zone, nil
	}
	loc, err := spool.LoadZone(a.zone.name)
	if err != nil {
		return nil, badUsage(fmt.Sprintf("use zone %q", a.zone.name), err.Error(), "name a zone as in --tz Europe/Berlin")
	}
	return loc, nil
}
