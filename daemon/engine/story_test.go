package engine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

var update = flag.Bool("update", false, "write what the stories really say")

// TestStories replays testdata/engine/*.txt: blocks of a command, its input,
// ---- and what the engine says to it. A bug report can be pasted in as one.
//
//	start T [zone=Z] [booted]   a daemon starts at local time T; what earlier daemons stored is still there
//	load [NAME]                 the tables are replaced by the text that follows
//	until T                     time passes; the engine is woken when it asks
//	end N exit=C | signal=S     the process of run N ends
//	clock +1h | -1h             the wall clock is set
//	sleep 2h                    the machine is suspended
//	die                         the daemon is killed
//	run|pause|resume|stop JOB   somebody asks; force, until=T, by=NAME
//	drain, abandon              the daemon is told to stop
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../testdata/engine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text))
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, text) {
				t.Errorf("%s: the engine says otherwise; to accept: go test ./daemon/engine -run Stories -update\ngot:\n%s", file, got)
			}
		})
	}
}

func replay(t *testing.T, text string) []byte {
	var out bytes.Buffer
	s := &story{t: t, out: &out}
	blocks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	for i, block := range blocks {
		if i > 0 {
			out.WriteByte('\n')
		}
		head, _, _ := strings.Cut(block, "\n----")
		out.WriteString(head + "\n")
		command := slices.DeleteFunc(strings.Split(head, "\n"), func(l string) bool { return strings.HasPrefix(l, "# ") })
		if len(command) == 0 {
			continue
		}
		out.WriteString("----\n")
		s.command(strings.Fields(command[0]), strings.Join(command[1:], "\n"))
	}
	return out.Bytes()
}

type story struct {
	t   *testing.T
	out *bytes.Buffer
	w   *world
}

func (s *story) command(words []string, body string) {
	w := s.w
	switch verb := words[0]; verb {
	case "start":
		s.start(words[1:])
		return
	case "load":
		name := "story"
		if len(words) > 1 {
			name = words[1]
		}
		w.tables = nil
		if body != "" {
			w.tables = append(w.tables, w.table(name, body+"\n"))
		}
		if w.engine == nil {
			w.start()
			return
		}
		w.step(Load{w.tables})
	case "until":
		w.advance(s.time(words[1]))
		return
	case "end":
		w.end(s.run(words[1]), s.outcome(words[2]))
	case "clock":
		w.set(s.duration(words[1]))
	case "sleep":
		w.pass(s.duration(words[1]))
	case "die":
		w.engine = nil
		return
	case "drain":
		w.step(Drain{})
	case "abandon":
		w.step(Abandon{})
	default:
		s.ask(words)
	}
	w.step()
	for len(w.owed) > 0 {
		w.step()
	}
}

func (s *story) ask(words []string) {
	id, by, token := job.ID(words[1]), "ann", Token(1)
	has := func(word string) bool { return slices.Contains(words, word) }
	switch words[0] {
	case "run":
		s.w.step(RunNow{Job: id, By: by, Force: has("force"), Token: token})
	case "stop":
		s.w.step(Stop{Job: id, By: by, Token: token})
	case "pause":
		h := job.Hold{By: by}
		if len(words) > 2 {
			h.Until = s.time(strings.TrimPrefix(words[2], "until="))
		}
		s.w.step(Pause{Job: id, Hold: h, Token: token})
	case "resume":
		s.w.step(Resume{Job: id, By: by, Token: token})
	default:
		s.t.Fatalf("story: no such command: %q", words)
	}
}

func (s *story) start(words []string) {
	zone := time.UTC
	for _, word := range words[1:] {
		if name, ok := strings.CutPrefix(word, "zone="); ok {
			var err error
			if zone, err = time.LoadLocation(name); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if s.w == nil {
		s.w = newWorld(s.t, time.Time{}, zone)
		s.w.log = func(e Effect) {
			if line := s.w.tell(e); line != "" {
				fmt.Fprintln(s.out, line)
			}
		}
	}
	s.w.zone = zone
	s.w.now.Wall = s.time(words[0])
	s.w.state.Booted = slices.Contains(words, "booted")
	if s.w.tables != nil {
		s.w.start()
		for len(s.w.owed) > 0 {
			s.w.step()
		}
	}
}

func (s *story) time(text string) time.Time {
	t, err := time.ParseInLocation("2006-01-02T15:04:05", text, s.w.zone)
	if err != nil {
		day := s.w.now.Wall.In(s.w.zone).Format("2006-01-02T")
		if t, err = time.ParseInLocation("2006-01-02T15:04:05", day+text, s.w.zone); err != nil {
			s.t.Fatalf("story: %v", err)
		}
	}
	return t.UTC()
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatalf("story: %v", err)
	}
	return d
}

func (s *story) run(text string) job.RunID {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatalf("story: %v", err)
	}
	return job.RunID(n)
}

func (s *story) outcome(text string) job.Outcome {
	kind, value, _ := strings.Cut(text, "=")
	n, err := strconv.Atoi(value)
	if err != nil {
		s.t.Fatalf("story: %v", err)
	}
	if kind == "signal" {
		return job.Outcome{Kind: job.Signalled, Signal: n}
	}
	return job.Outcome{Kind: job.Exited, Code: n}
}
