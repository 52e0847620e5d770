package main

import (
	"github.com/cronring/cronring/cmd/cronring/doctor"
	"github.com/cronring/cronring/cmd/cronring/migration"
)

// Commands that examine the host that they run on.
var newDoctor, newImport = doctor.NewDoctor, migration.NewImport
