package crontab1

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"crontab": func() { os.Exit(New().Run(os.Args[1:])) }})
}
