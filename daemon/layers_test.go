package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const module = "github.com/cronring/cronring"

// layers is the order of the house, bottom first. A package imports only from
// rows before its own: never up, never sideways.
var layers = [][]string{
	{"crontab/lex", "crontab/diagnostic", "daemon/job", "daemon/display", "daemon/atomicfile", "daemon/usual", "daemon/wake", "daemon/descriptor", "gossip/rendezvous", "gossip/wire", "man", "man/mantest", "daemon/filetest"},
	{"crontab/timetable", "daemon/unixconn", "daemon/hosttest", "gossip/meta"},
	{"crontab/holidays", "packaging/machinetest"},
	{"crontab/option", "crontab/source"},
	{"crontab/directive"},
	{"crontab/sidecar"},
	{"crontab"},
	{"crontab/dependency", "crontab/draft"},
	{"daemon/engine/catalog", "daemon/engine/effect", "daemon/engine/slots"},
	{"daemon/engine/exchange", "daemon/engine/join", "daemon/engine/memorystore"},
	{"daemon/engine/agenda"},
	{"daemon/engine/backfill"},
	{"daemon/engine/live", "daemon/engine/install"},
	{"daemon/engine/event"},
	{"daemon/engine/view", "daemon/engine/gate"},
	{"gossip/holders", "gossip/keys", "gossip/memory"},
	{"gossip/claims", "gossip/roster", "gossip/clocks", "gossip/search"},
	{"daemon/engine", "daemon/account", "daemon/budget", "daemon/filelock", "daemon/starter", "daemon/credential", "daemon/envfile", "daemon/sandbox", "daemon/timeinput"},
	{"daemon/review", "daemon/engine/enginetest", "daemon/outbox", "daemon/account/accounttest"},
	{"daemon/store/database"},
	{"daemon/store/audit", "daemon/store/revision", "daemon/store/state", "daemon/store/statistics"},
	{"daemon/store/prune"},
	{"daemon/spawn/runoutput", "daemon/spawn/proc", "daemon/spawn/self", "daemon/spawn/epoll", "daemon/spawn/pipe", "daemon/spawn/usercalls", "daemon/spawn/workloop"},
	{"daemon/spawn/command", "daemon/spawn/handed"},
	{"daemon/spawn/logfile", "daemon/spawn/stage"},
	{"daemon/clock", "daemon/spawn", "daemon/spool", "daemon/store", "daemon/mail", "daemon/notify", "daemon/journal", "daemon/metrics", "daemon/session", "daemon/manager", "daemon/cgroup", "daemon/preserve", "gossip/link", "gossip/link/linktest", "gossip/transport"},
	{"gossip/ledger/disk", "gossip/inbox"},
	{"daemon/mail/sendmail"},
	{"gossip", "gossip/ledger", "daemon/groups", "daemon/conditions", "daemon/watchfiles", "daemon/barred", "daemon/othercron", "daemon/cronlog", "daemon/hostprogram", "daemon/ownsocket", "daemon/recorder"},
	{"daemon/config", "daemon/runlog", "daemon/shim", "daemon/runmail"},
	{"daemon/api", "daemon/handover"},
	{"daemon/server/call", "daemon/listen", "daemon/hub", "daemon/member", "daemon/pamsession"},
	{"daemon/server/members"},
	{"daemon/server/jobstate"},
	{"daemon/server/lookup"},
	{"daemon/server/crontabs", "daemon/server/actions", "daemon/server/beats", "daemon/server/history", "daemon/server/why"},
	{"daemon/server/analysis", "daemon/server/jobinfo", "daemon/server/monitoring", "daemon/server/overview", "daemon/server/upkeep"},
	{"daemon/server", "daemon/server/simulated"},
	{"daemon", "daemon/demo", "daemon/cronview"},
	{"tui/keys", "tui/nocolor", "tui/find", "tui/hosts"},
	{"tui/canvas", "tui/board", "tui/edit", "tui/custom"},
	{"tui/settings"},
	{"tui/screen"},
	{"tui/page", "tui/screen/screentest"},
	{"tui/table", "tui/change", "tui/failure", "tui/finder", "tui/preferences"},
	{"tui/jobinfo", "tui/shell"},
	{"tui/shell/shelltest"},
	{"tui/screen/jobs", "tui/screen/runs", "tui/screen/ring", "tui/screen/files", "tui/screen/editor", "tui/screen/output", "tui/screen/why", "tui/screen/console", "tui/screen/dst", "tui/screen/incident", "tui/screen/stats", "tui/screen/upcoming", "tui/screen/hosts"},
	{"tui/screen/timeline", "tui/screen/detail", "tui/screen/options", "tui/screen/hostjobs"},
	{"tui"},
	{"cmd/cronring/cli", "cmd/cronring/inventory"},
	{"cmd/cronring/clitest", "cmd/cronring/direct", "cmd/cronring/jobs", "cmd/cronring/runs", "cmd/cronring/analysis"},
	{"cmd/cronring/inventory/inventorytest", "cmd/cronring/crontab1", "cmd/cronring/dashboard", "cmd/cronring/ring"},
	{"cmd/cronring/crontabs", "cmd/cronring/host", "cmd/cronring/doctor", "cmd/cronring/migration/manifest"},
	{"cmd/cronring/migration"},
	{"cmd/cronringd", "cmd/cronring", "packaging/container"},
}

// pure are the packages that decide and name: a test can call them a million
// times, and nothing but their arguments changes what they say.
var pure = []string{"crontab/lex", "crontab/diagnostic", "crontab/timetable", "crontab/holidays", "crontab/option", "crontab/source", "crontab/directive", "crontab/sidecar", "crontab", "crontab/dependency", "crontab/draft", "daemon/job", "daemon/engine/catalog", "daemon/engine/effect", "daemon/engine/exchange", "daemon/engine/agenda", "daemon/engine/slots", "daemon/engine/join", "daemon/engine/live", "daemon/engine/install", "daemon/engine/event", "daemon/engine/gate", "daemon/engine/backfill", "daemon/engine/view", "daemon/engine", "daemon/review", "daemon/usual", "daemon/metrics", "gossip/rendezvous", "gossip/wire", "gossip/meta", "gossip/holders", "gossip/claims", "gossip/clocks"}

// impure is the reason why a pure package must not import another.
var impure = map[string]string{
	"os":           "files and environment come in as arguments",
	"net":          "deciding needs no network",
	"sync":         "one goroutine owns the engine; values that others see are immutable",
	"log":          "log once, at the rim",
	"log/slog":     "log once, at the rim",
	"context":      "nothing here blocks",
	"math/rand":    "randomness comes in as a seed, so that a run can be replayed",
	"math/rand/v2": "randomness comes in as a seed, so that a run can be replayed",
}

// forbidden lists the packages that a program must not link, with the reasons.
var forbidden = map[string]map[string]string{
	"gossip": {
		module + "/daemon/engine": "the ring finds out who runs an occurrence, and decides nothing about jobs",
	},
	"gossip/claims": {
		module + "/daemon/engine": "the ring decides which member runs an occurrence, and not how",
	},
	"daemon/engine": {
		module + "/gossip/...": "the engine decides how this host runs a job, and not which member runs it",
	},
	"cmd/cronringd": {
		"charm.land/bubbletea/v2":             "the daemon draws nothing; a renderer in a root process is attack surface",
		"charm.land/lipgloss/v2":              "the daemon draws nothing; a renderer in a root process is attack surface",
		"github.com/charmbracelet/bubbletea":  "the daemon draws nothing, and v1 asks the terminal questions when it is imported",
		"github.com/spf13/cobra":              "the daemon has flags and no verbs; pflag, which reads them as cron did, is enough",
		"github.com/adhocore/gronx":           "gronx is the benchmarks' peer, not part of the product",
		"github.com/rogpeppe/go-internal/...": "testscript is for tests",
	},
	"cmd/cronring": {
		"modernc.org/sqlite":              "the command line asks the daemon; it never opens the history itself",
		"github.com/hashicorp/memberlist": "the command line is no member of the ring",
		module + "/daemon":                "clients reach the daemon through daemon/api alone",
		module + "/daemon/server":         "clients reach the daemon through daemon/api alone",
		module + "/daemon/server/...":     "clients reach the daemon through daemon/api alone",
		module + "/daemon/store":          "clients reach the daemon through daemon/api alone",
		module + "/daemon/store/...":      "clients reach the daemon through daemon/api alone",
		module + "/daemon/spawn":          "clients start no jobs",
		module + "/daemon/clock":          "simulate has a clock of its own",
		"github.com/adhocore/gronx":       "gronx is the benchmarks' peer, not part of the product",
	},
}

type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Doc        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports,Deps", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
}

func layerOf(path string) int {
	return slices.IndexFunc(layers, func(row []string) bool { return slices.Contains(row, path) })
}

func TestLayersImportsGoDown(t *testing.T) {
	for _, p := range listPackages(t) {
		own := layerOf(p.path())
		if own < 0 {
			t.Errorf("%s has no place in the list of layers in daemon/layers_test.go", p.path())
			continue
		}
		for _, imported := range p.Imports {
			path, ok := strings.CutPrefix(imported, module+"/")
			if ok && layerOf(path) >= own {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go down", p.path(), own, path, layerOf(path))
			}
		}
	}
}

func TestLayersForbiddenDependencies(t *testing.T) {
	found := 0
	for _, p := range listPackages(t) {
		if forbidden[p.path()] != nil {
			found++
		}
		for name, why := range forbidden[p.path()] {
			prefix, tree := strings.CutSuffix(name, "/...")
			for _, dep := range p.Deps {
				if dep == name || tree && strings.HasPrefix(dep, prefix+"/") {
					t.Errorf("%s links %s: %s", p.path(), dep, why)
				}
			}
		}
	}
	if found != len(forbidden) {
		t.Errorf("the list has %d packages, but %d of these exist", len(forbidden), found)
	}
}

// ringUsers are the packages outside gossip that import it: the loop's part of a ring, the commands
// that set a ring up and check it, and the simulated rings of the demo and of tests.
var ringUsers = []string{"daemon/member", "daemon/demo", "daemon/server/simulated", "cmd/cronring/ring"}

// TestLayersGossipImporters checks that only ringUsers import gossip.
func TestLayersGossipImporters(t *testing.T) {
	found := 0
	for _, p := range listPackages(t) {
		if p.path() == "gossip" || strings.HasPrefix(p.path(), "gossip/") {
			continue
		}
		i := slices.IndexFunc(p.Imports, func(imported string) bool {
			return imported == module+"/gossip" || strings.HasPrefix(imported, module+"/gossip/")
		})
		switch allowed := slices.Contains(ringUsers, p.path()); {
		case i >= 0 && !allowed:
			t.Errorf("%s imports %s: other packages see the ring through daemon/member and the API", p.path(), p.Imports[i])
		case i >= 0:
			found++
		}
	}
	if found != len(ringUsers) {
		t.Errorf("the list has %d packages, but %d of these import gossip", len(ringUsers), found)
	}
}

// TestLayersCharmStaysInTheTerminal: only the package that owns the terminal may import the
// drawing libraries. Screens draw on a canvas, which a test can read.
func TestLayersCharmStaysInTheTerminal(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			if p.path() != "tui" && (strings.HasPrefix(imported, "charm.land/") || strings.HasPrefix(imported, "github.com/charmbracelet/")) {
				t.Errorf("%s imports %s: package tui alone does", p.path(), imported)
			}
		}
	}
}

func TestLayersPurePackages(t *testing.T) {
	found := 0
	for _, p := range listPackages(t) {
		if !slices.Contains(pure, p.path()) {
			continue
		}
		found++
		for _, file := range p.GoFiles {
			checkPure(t, filepath.Join(p.Dir, file), p.path()+"/"+file)
		}
	}
	if found != len(pure) {
		t.Errorf("the list has %d packages, but %d of these exist", len(pure), found)
	}
}

func checkPure(t *testing.T, path, name string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range f.Imports {
		imported, _ := strconv.Unquote(imp.Path.Value)
		if why, bad := impure[imported]; bad {
			t.Errorf("%s imports %s: %s", name, imported, why)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s:%d starts a goroutine: pure packages have none", name, fset.Position(n.Pos()).Line)
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "LoadLocation", "Sleep", "After", "AfterFunc"}, n.Sel.Name) {
				t.Errorf("%s:%d uses time.%s: the clock and the zones come in as arguments", name, fset.Position(n.Pos()).Line, n.Sel.Name)
			}
		}
		return true
	})
}

// engineNames are the names in the engine's string literals. All other words are in daemon/job.
var engineNames = []string{"root", "cronring", "allow", "queue-all", "after", "on", "stop-grace", "not-found", "conflict", "draining"}

// TestLayersEngineHasNoSentences checks that the engine and the claims of a ring pass facts to daemon/job, which
// has the words that people read, and compose no text themselves.
func TestLayersEngineHasNoSentences(t *testing.T) {
	found := map[string]bool{}
	for _, p := range listPackages(t) {
		if p.path() != "gossip/claims" && !strings.HasPrefix(p.path()+"/", "daemon/engine/") || p.path() == "daemon/engine/enginetest" {
			continue
		}
		eachNode(t, p, func(at func() string, n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.Field: // a field has tags
				return false
			case *ast.CallExpr:
				fun, ok := n.Fun.(*ast.Ident)
				return !ok || fun.Name != "panic"
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind != token.STRING || err != nil || !strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || unicode.IsLetter(r) }) {
					return true
				}
				if found[text] = true; !slices.Contains(engineNames, text) {
					t.Errorf("%s has the text %s: words that people read are in daemon/job (detail_words.go, refusal.go, notice.go)", at(), n.Value)
				}
			}
			return true
		})
	}
	for _, name := range engineNames {
		if !found[name] {
			t.Errorf("no package of the engine has the name %q: remove it from the list", name)
		}
	}
}

// TestLayersTextsAreNoFacts checks that only the packages that make and store facts convert texts to details. Other
// packages call job.Text, so that no text of a user is taken for a fact.
func TestLayersTextsAreNoFacts(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.path() == "daemon/job" || p.path() == "daemon/store" {
			continue
		}
		eachNode(t, p, func(at func() string, n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && types.ExprString(call.Fun) == "job.Detail" {
				t.Errorf("%s converts a text to a job.Detail: call job.Text", at())
			}
			return true
		})
	}
}

// eachNode visits the syntax of the files of a package. at returns the place of the node.
func eachNode(t *testing.T, p pkg, visit func(at func() string, n ast.Node) bool) {
	t.Helper()
	for _, file := range p.GoFiles {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			return visit(func() string { return fmt.Sprintf("%s/%s:%d", p.path(), file, fset.Position(n.Pos()).Line) }, n)
		})
	}
}

// Limits of how strongly the files of a package hang together.
const (
	mostArrows = 5  // per file, on average
	mostCycle  = 15 // files that need each other
)

// TestLayersCoupling checks that each package can be read in parts. An arrow goes from a file to
// another one of the package if it contains a name that only that one defines. Like the ruler that
// other projects were measured with, it reads words, not syntax.
func TestLayersCoupling(t *testing.T) {
	for _, p := range listPackages(t) {
		arrows := arrowsIn(t, p.Dir)
		total := 0
		for _, to := range arrows {
			total += len(to)
		}
		if total > mostArrows*len(arrows) {
			t.Errorf("%s has %d arrows between %d files, and %d per file are the limit: split it by purpose, or move what two files share", p.path(), total, len(arrows), mostArrows)
		}
		if cycle := largestCycle(arrows); cycle > mostCycle {
			t.Errorf("%s has %d files that need each other, and %d are the limit: move a part that needs no others into a package of its own", p.path(), cycle, mostCycle)
		}
	}
}

var (
	comment    = regexp.MustCompile(`//.*`)
	definition = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type )(\w+)`)
	word       = regexp.MustCompile(`\w+`)
)

// arrowsIn returns the arrows from each file of a directory.
func arrowsIn(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts, homes := map[string]string{}, map[string]string{} // by file; by name, "" if several define it
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = comment.ReplaceAllString(string(text), "")
		for _, m := range definition.FindAllStringSubmatch(texts[file], -1) {
			if home, known := homes[m[1]]; known && home != file {
				homes[m[1]] = ""
			} else {
				homes[m[1]] = file
			}
		}
	}
	arrows := map[string]map[string]bool{}
	for file, text := range texts {
		arrows[file] = map[string]bool{}
		for _, name := range word.FindAllString(text, -1) {
			if home := homes[name]; len(name) > 3 && home != "" && home != file {
				arrows[file][home] = true
			}
		}
	}
	return arrows
}

// largestCycle returns the largest number of files that need each other, directly or through others.
func largestCycle(arrows map[string]map[string]bool) (largest int) {
	reach := map[string]map[string]bool{}
	for file := range arrows {
		seen := map[string]bool{file: true}
		for next := []string{file}; len(next) > 0; next = next[1:] {
			for to := range arrows[next[0]] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		reach[file] = seen
	}
	for file, seen := range reach {
		n := 0
		for to := range seen {
			if reach[to][file] {
				n++
			}
		}
		largest = max(largest, n)
	}
	return largest
}

// TestSigns checks that every package has exactly one package comment that describes what it owns.
func TestSigns(t *testing.T) {
	for _, p := range listPackages(t) {
		comments := 0
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				comments++
			}
		}
		want := "Package " + p.Name + " owns "
		if p.Name == "main" {
			want = "Command " + filepath.Base(p.Dir) + " "
		}
		if comments != 1 || !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s has %d package comments, beginning %q; want one, beginning %q", p.path(), comments, p.Doc, want)
		}
	}
}
