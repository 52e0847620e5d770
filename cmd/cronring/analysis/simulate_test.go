package analysis

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

func TestSimulateHelpListsTheFields(t *testing.T) {
	var fields []string
	for f := range reflect.TypeFor[simulated]().Fields() {
		fields = append(fields, f.Tag.Get("json"))
	}
	help := strings.ReplaceAll(NewSimulate(cli.New(os.Stdin, os.Stdout, os.Stderr)).Long, "\n", " ")
	if want := strings.Join(fields, ", ") + "."; !strings.HasSuffix(strings.ReplaceAll(help, " (UTC)", ""), ": "+want) {
		t.Errorf("got help %q, want the fields %q in it", help, want)
	}
}
