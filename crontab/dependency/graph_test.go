package dependency

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
)

// connectNamed connects the entries of crontabs by their names alone.
func connectNamed(crontabs ...*crontab.File) (*Graph, []*crontab.Entry) {
	var entries []*crontab.Entry
	var edged []int
	names := map[string]int{}
	for _, t := range crontabs {
		for i := range t.Entries {
			e, n := &t.Entries[i], len(entries)
			entries = append(entries, e)
			names[t.Owner()+"/"+e.Options().Name] = n
			if o := e.Options(); len(o.After)+len(o.On) > 0 {
				edged = append(edged, n)
			}
		}
	}
	called := func(owner, name string) (int, bool) { i, ok := names[owner+"/"+name]; return i, ok }
	return Connect(edged, func(i int) *crontab.Entry { return entries[i] }, called), entries
}

func userCrontab(t testing.TB, owner, text string) *crontab.File {
	t.Helper()
	file, diagnostics := crontab.Parse("crontabs/"+owner, text, crontab.Config{Owner: owner})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return file
}

func systemCrontab(t testing.TB, text string) *crontab.File {
	t.Helper()
	file, diagnostics := crontab.Parse("etc/crontab", text, crontab.Config{Format: crontab.System})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return file
}

func TestConnectHoldsCirclesAndUnknownNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []*crontab.File
		want  map[string]string // by name of the entry
	}{
		{"a chain", []*crontab.File{userCrontab(t, "ann", "#@ name=a\n* * * * * a\n#@ name=b after=a\n* * * * * b\n#@ name=c on=job:b:fail\n* * * * * c\n")}, nil},
		{"an unknown name", []*crontab.File{userCrontab(t, "ann", "#@ name=a after=dumb\n* * * * * a\n#@ name=b after=a\n* * * * * b\n"), systemCrontab(t, "#@ name=c on=job:dumb:ok\n* * * * * ann c\n")},
			map[string]string{"a": "after= refers to dumb, which is not a job of ann", "c": "on= refers to dumb, which is not a job of root (a job of a user's crontab is USER/dumb)"}},
		{"itself", []*crontab.File{userCrontab(t, "ann", "#@ name=a after=a\n* * * * * a\n")}, map[string]string{"a": "after= forms a cycle: a -> a"}},
		{"a circle", []*crontab.File{userCrontab(t, "ann", "#@ name=dump after=report\n* * * * * d\n#@ name=upload after=dump\n* * * * * u\n#@ name=report after=dump:done,upload:done\n* * * * * r\n#@ name=beside after=report\n* * * * * b\n")},
			map[string]string{
				"dump":   "after= forms a cycle: dump -> report -> dump",
				"upload": "after= forms a cycle: dump -> report -> dump",
				"report": "after= forms a cycle: dump -> report -> dump",
			}},
		{"a circle of both words", []*crontab.File{userCrontab(t, "ann", "#@ name=a on=job:b\n* * * * * a\n#@ name=b after=a\n* * * * * b\n")},
			map[string]string{"a": "after= and on= form a cycle: a -> b -> a", "b": "after= and on= form a cycle: a -> b -> a"}},
		{"a circle of on=", []*crontab.File{userCrontab(t, "ann", "#@ name=a on=job:b\n* * * * * a\n#@ name=b on=job:a\n* * * * * b\n")},
			map[string]string{"a": "on= forms a cycle: a -> b -> a", "b": "on= forms a cycle: a -> b -> a"}},
		{"two circles", []*crontab.File{userCrontab(t, "ann", "#@ name=a after=b\n* * * * * a\n#@ name=b after=a\n* * * * * b\n#@ name=c after=d\n* * * * * c\n#@ name=d after=c\n* * * * * d\n")},
			map[string]string{
				"a": "after= forms a cycle: a -> b -> a", "b": "after= forms a cycle: a -> b -> a",
				"c": "after= forms a cycle: c -> d -> c", "d": "after= forms a cycle: c -> d -> c",
			}},
		{"another account's", []*crontab.File{userCrontab(t, "bob", "#@ name=b\n* * * * * b\n"), userCrontab(t, "ann", "#@ name=a after=b\n* * * * * a\n")},
			map[string]string{"a": "after= refers to b, which is not a job of ann"}},
		{"another user's, in full", []*crontab.File{userCrontab(t, "bob", "#@ name=b\n* * * * * b\n"), userCrontab(t, "ann", "#@ name=a after=bob/b\n* * * * * a\n")},
			map[string]string{"a": "after= refers to bob/b, which is not a job of ann"}},
		{"her own, in full", []*crontab.File{userCrontab(t, "ann", "#@ name=b\n* * * * * b\n#@ name=a after=ann/b\n* * * * * a\n")}, nil},
		{"root's, in full", []*crontab.File{systemCrontab(t, "#@ name=b\n* * * * * ann b\n"), userCrontab(t, "ann", "#@ name=a on=job:root/b:ok\n* * * * * a\n")}, nil},
		{"root's, in full, that runs as another", []*crontab.File{systemCrontab(t, "#@ name=b\n* * * * * bob b\n"), userCrontab(t, "ann", "#@ name=a after=root/b\n* * * * * a\n")},
			map[string]string{"a": "after= refers to root/b, which is not a job of ann"}},
		{"root's, that runs as the account", []*crontab.File{systemCrontab(t, "#@ name=b\n* * * * * ann b\n"), userCrontab(t, "ann", "#@ name=a after=b\n* * * * * a\n")}, nil},
		{"anybody's, of root", []*crontab.File{userCrontab(t, "ann", "#@ name=b\n* * * * * b\n"), systemCrontab(t, "#@ name=a after=ann/b\n* * * * * root a\n")}, nil},
		{"a user's by a bare name, of root", []*crontab.File{userCrontab(t, "ann", "#@ name=b\n* * * * * b\n"), systemCrontab(t, "#@ name=a after=b\n* * * * * root a\n")},
			map[string]string{"a": "after= refers to b, which is not a job of root (a job of a user's crontab is USER/b)"}},
		{"a circle that an account closes around root's", []*crontab.File{systemCrontab(t, "#@ name=b after=ann/a\n* * * * * ann b\n"), userCrontab(t, "ann", "#@ name=a after=b\n* * * * * a\n")},
			map[string]string{"a": "after= forms a cycle: b -> ann/a -> b"}},
		{"root's own circle, and one of an account around it", []*crontab.File{
			systemCrontab(t, "#@ name=x after=y\n* * * * * ann x\n#@ name=y after=x,ann/a\n* * * * * ann y\n"), userCrontab(t, "ann", "#@ name=a after=x\n* * * * * a\n"),
		}, map[string]string{"x": "after= forms a cycle: x -> y -> x", "y": "after= forms a cycle: x -> y -> x"}},
	} {
		g, entries := connectNamed(c.files...)
		got := map[string]string{}
		for i, f := range g.Faults {
			got[entries[i].Options().Name] = f.Text
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.name, got, c.want)
		}
	}
}

func TestConnectPrefersTheSameOwner(t *testing.T) {
	mine := userCrontab(t, "ann", "#@ name=b\n* * * * * mine\n#@ name=a after=b\n* * * * * a\n")
	for _, crontabs := range [][]*crontab.File{{systemCrontab(t, "#@ name=b\n* * * * * ann theirs\n"), mine}, {mine, systemCrontab(t, "#@ name=b\n* * * * * ann theirs\n")}} {
		g, entries := connectNamed(crontabs...)
		for i, links := range g.After {
			if parent := entries[links[0].Parent]; parent.Command() != "mine" {
				t.Errorf("after=b of entry %d means %q, want that of the same crontab", i, parent.Command())
			}
		}
		if len(g.After) != 1 {
			t.Errorf("got %d entries with after=, want 1", len(g.After))
		}
	}
}

func TestConnectCutsLongCircles(t *testing.T) {
	var b strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&b, "#@ name=n%d after=n%d\n* * * * * x\n", i, (i+1)%n)
	}
	g, _ := connectNamed(userCrontab(t, "ann", b.String()))
	want := "after= forms a cycle: n0 -> n19999 -> n19998 -> n19997 -> n19996 -> n19995 -> 19989 more -> n5 -> n4 -> n3 -> n2 -> n1 -> n0"
	if len(g.Faults) != n || g.Faults[7].Text != want {
		t.Errorf("got %d faults, %q\nwant %d, %q", len(g.Faults), g.Faults[7].Text, n, want)
	}
}

func TestConnectBoundsTheEdgesOfAnOwner(t *testing.T) {
	var b strings.Builder
	b.WriteString("#@ name=p\n0 1 * * * p\n")
	for i := range 1000 - 1 {
		fmt.Fprintf(&b, "#@ name=p%d\n0 1 * * * p\n", i)
	}
	b.WriteString("#@ default after=p")
	for i := range 1000 - 1 {
		fmt.Fprintf(&b, ",p%d", i)
	}
	b.WriteString("\n" + strings.Repeat("0 2 * * * x\n", maxLinks/1000+2))
	g, entries := connectNamed(userCrontab(t, "ann", b.String()), userCrontab(t, "bob", "#@ name=p\n0 1 * * * p\n#@ after=p\n0 1 * * * q\n"))
	diagnostics := g.Diagnostics(func(i int) *crontab.Entry { return entries[i] })
	if len(diagnostics) != 2 || diagnostics[0].Code != "B419" {
		t.Errorf("got %v, want the last two entries of ann refused", diagnostics)
	}
}

func TestConnectDiagnosticsPointAtTheOption(t *testing.T) {
	g, entries := connectNamed(userCrontab(t, "ann", "#@ name=b\n* * * * * b\n"), userCrontab(t, "bob", "#@ overlap=skip\n#@ name=a  after=a\n* * * * * a\n"))
	if len(g.Faults) != 1 {
		t.Fatalf("got %v", g.Faults)
	}
	diagnostics := g.Diagnostics(func(i int) *crontab.Entry { return entries[i] })
	if got, want := fmt.Sprint(diagnostics), "[crontabs/bob:2:12: after= forms a cycle: a -> a: the entry is held]"; got != want || diagnostics[0].Length != len("after=a") {
		t.Errorf("got %s, length %d\nwant %s", got, diagnostics[0].Length, want)
	}
}

// TestConnectHoldsJustTheMembersOfCircles compares with the plain definition:
// an entry is in a circle if a way leads from it back to it.
func TestConnectHoldsJustTheMembersOfCircles(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 2 + rng.IntN(9)
		reach := make([][]bool, n)
		var b strings.Builder
		for i := range n {
			reach[i] = make([]bool, n)
			var names []string
			for j := range n {
				if rng.IntN(n) == 0 {
					names, reach[i][j] = append(names, fmt.Sprintf("n%d", j)), true
				}
			}
			fmt.Fprintf(&b, "#@ name=n%d", i)
			if len(names) > 0 {
				fmt.Fprintf(&b, " after=%s", strings.Join(names, ","))
			}
			b.WriteString("\n* * * * * x\n")
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		g, _ := connectNamed(userCrontab(t, "ann", b.String()))
		for i := range n {
			if _, held := g.Faults[i]; held != reach[i][i] {
				t.Fatalf("seed %d: entry %d held: %t, in a circle: %t\n%s", seed, i, held, reach[i][i], b.String())
			}
		}
	}
}

// graphCrontab is n entries in layers, each waiting for all of the layer before.
func graphCrontab(t testing.TB, layers, width int) *crontab.File {
	var b strings.Builder
	for l := range layers {
		for w := range width {
			fmt.Fprintf(&b, "#@ name=n%d-%d", l, w)
			if l > 0 {
				names := make([]string, width)
				for i := range names {
					names[i] = fmt.Sprintf("n%d-%d", l-1, i)
				}
				fmt.Fprintf(&b, " after=%s", strings.Join(names, ","))
			}
			b.WriteString("\n0 3 * * * x\n")
		}
	}
	file, diagnostics := crontab.Parse("bench", b.String(), crontab.Config{Owner: "ann", Zone: time.LoadLocation})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return file
}

// BenchmarkConnect finds whom 1,000 entries mean, in a chain and in layers.
func BenchmarkConnect(b *testing.B) {
	for _, c := range []struct{ layers, width int }{{1000, 1}, {10, 100}} {
		b.Run(fmt.Sprintf("%dx%d", c.layers, c.width), func(b *testing.B) {
			file := graphCrontab(b, c.layers, c.width)
			for b.Loop() {
				if g, _ := connectNamed(file); len(g.Faults) > 0 {
					b.Fatal(g.Faults)
				}
			}
		})
	}
}

// TestDefaultOfManyEdgesIsReadOnce has many entries below a default that names many jobs: a small
// text must not fill the memory.
func TestDefaultOfManyEdgesIsReadOnce(t *testing.T) {
	var b strings.Builder
	b.WriteString("#@ default after=n0")
	for i := 1; i < option.MaxEdges; i++ {
		fmt.Fprintf(&b, ",n%d", i)
	}
	b.WriteString("\n" + strings.Repeat("#@ retry=1\n0 1 * * * x\n", 100) + "#@ on=job:ok\n0 1 * * * x\n#@ after=job:ok\n0 1 * * * x\n")
	entries := userCrontab(t, "ann", b.String()).Entries
	first := entries[0].Options().After
	for _, e := range entries[1:100] {
		if after := e.Options().After; len(after) != option.MaxEdges || &after[0] != &first[0] {
			t.Fatalf("line %d has %d edges of its own", e.Line(), len(after))
		}
	}
	if on, after := entries[100].Options().On, entries[101].Options().After; on[0].Job != "ok" || after[0].Job != "job" {
		t.Errorf("one text for two options: on=%v, after=%v", on, after)
	}
}
