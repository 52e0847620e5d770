package engine

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

var update = flag.Bool("update", false, "write what the stories really say")

// TestStories replays testdata/engine/*.txt. A file consists of blocks: a command, its
// input, ----, and the engine's output. A bug report can be pasted in as a block.
//
//	start T [zone=Z] [booted] [adopted] [family=rhel]
//	                            a daemon starts at local time T; what earlier daemons stored is still there,
//	                            and with adopted it watches the processes that they left
//	load [NAME] [system|user]   the crontabs are replaced by the text that follows; user: the crontab of user NAME
//	load anacrontab             the same, in that format
//	also NAME [system|user]     one more crontab
//	first NAME [system|user]    one more crontab, before all others
//	limits [running=N] [per-user=N] [queue=N] [pool=NAME:SIZE[:RATE/PER][:USER,...]]
//	                            the configuration from the next load on
//	blackout [NAME HOURS|- FROM|- UNTIL|-]
//	                            a blackout of the host from the next load on; without a name: none
//	zone Z                      the host moves to another zone: its crontabs are read again
//	stamps ID=DAY ...           the stamps that anacron left
//	bar USER REASON [DETAIL]    nothing may start as the user; without USER all may
//	until T                     time passes; the engine is woken at its wake times
//	end N exit=C | signal=S | lost | unstarted | unrun
//	                            the process of run N ends; unrun: its command did not run, for a reason of this host
//	clock +1h | -1h             the wall clock is set
//	sleep 2h                    the machine is suspended
//	die                         the daemon is killed
//	run|pause|resume|stop JOB   a request of a person; force, until=T, skips, by=NAME
//	backfill JOB FROM TO [overlap=W] [reprocess=W] [active=N]
//	fillstop ID                 a backfill is stopped
//	drain, abandon              the daemon is about to stop
//	next JOB [N]                prints the planned times
//	emit NAME [user=NAME] [by=NAME] [admin] [env=NAME=value]
//	                            a user emits an event, for itself or for another user
//	files JOB T PATH ...        files that arrived for a job, the newest at T
//	ring MODE [KEY:VALUE ...]   the mode from the next load on, available or strict, and this host's labels
//	members MEMBER[,KEY:VALUE][,draining][,lacks=JOB][,differs=JOB] ... [newest=JOB@T] [barred=WHY] [clock]
//	                            the current ring; box is this host; clock: most members agree with its clock
//	claim JOB T granted[=TOKEN] | refused=MEMBER | unknown
//	                            the result of a claim
//	took JOB T                  another member took an occurrence
//	gone MEMBER JOB T taken|begun [ATTEMPT LOST]
//	                            a member that took an occurrence is gone
//	left MEMBER JOB T ATTEMPT LOST [TRIED ...]
//	                            a member left, and had not begun it, or members could not start it
//	depart                      this member is about to broadcast its final state
//	deprived, doubled JOB T MEMBER
//	                            a member took an occurrence too, or ran it too
//	owner JOB T                 prints the owner of an occurrence
//	redrive N, drop N           a person retries or drops the dead letter of run N
//	trouble JOB                 prints the troubles of a job in the view
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
				filetest.Write(t, file, string(got), 0o644)
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
	w   *simHost

	texts []crontabText
	hosts map[string]string // of the members, by ID
}

// parse reads all crontabs, as a daemon does when one of them changes or the host moves.
func (s *story) parse() { s.w.crontabs = s.w.parse(s.texts) }

func (s *story) zone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return zone
}

func (s *story) emit(words []string) {
	ev := event.Emit{Name: words[1], User: "root", Env: valuesOf(words, "env="), Admin: slices.Contains(words, "admin")}
	for _, user := range valuesOf(words, "user=") {
		ev.User = user
	}
	ev.By = ev.User
	for _, by := range valuesOf(words, "by=") {
		ev.By = by
	}
	s.w.step(event.Asked{Question: ev, Token: 1})
}

// stamps writes the stamps that anacron left. A running daemon is notified.
func (s *story) stamps(words []string) {
	for _, word := range words {
		id, day, _ := strings.Cut(word, "=")
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			s.t.Fatalf("story: %v", err)
		}
		s.w.store.Stamps[id] = timetable.DayOf(at, nil)
	}
	if s.w.engine != nil {
		s.w.step(event.Stamps{Days: s.w.store.Stamps})
	}
}

func (s *story) backfill(words []string) {
	b := job.Backfill{
		Job: job.ID(words[0]), By: "ann", From: s.time(words[1]), To: s.time(words[2]),
		Overlap: "queue-all", Reprocess: job.ReprocessNone, MaxActive: 1,
	}
	for _, word := range words[3:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "overlap":
			b.Overlap = value
		case "reprocess":
			b.Reprocess = job.Reprocess(value)
		case "active":
			b.MaxActive = int(s.run(value))
		}
	}
	s.w.step(event.Asked{Question: event.Backfill{Request: b, Ran: s.w.store.RanIn(b.Job, b.From, b.To)}, Token: 1})
}

func (s *story) limits(words []string) slots.Limits {
	l := slots.Limits{Pools: map[string]slots.Pool{}}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "running":
			l.MaxRunning = int(s.run(value))
		case "per-user":
			l.MaxPerUser = int(s.run(value))
		case "queue":
			l.QueueMax = int(s.run(value))
		case "pool":
			parts := strings.Split(value, ":")
			p := slots.Pool{Size: int(s.run(parts[1]))}
			for _, part := range parts[2:] {
				if rate, per, ok := strings.Cut(part, "/"); ok {
					p.Rate, p.Per = int(s.run(rate)), s.duration(per)
				} else {
					p.Users = strings.Split(part, ",")
				}
			}
			l.Pools[parts[0]] = p
		default:
			s.t.Fatalf("story: no such limit: %s", word)
		}
	}
	return l
}

func (s *story) blackout(words []string) timetable.Blackouts {
	if len(words) == 0 {
		return nil
	}
	b := timetable.Blackout{Name: words[0]}
	if words[1] != "-" {
		spans, err := timetable.ParseSpans(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		b.Allowed = timetable.NewHours(nil, spans, timetable.NewZone(s.w.zone))
	}
	if words[2] != "-" {
		b.From = s.time(words[2])
	}
	if words[3] != "-" {
		b.Until = s.time(words[3])
	}
	return timetable.Blackouts{b}
}

func (s *story) barUsers(words []string) {
	users := map[string]event.Barred{}
	if len(words) > 1 {
		users[words[0]] = event.Barred{Reason: job.Reason(words[1]), Detail: strings.Join(words[2:], " ")}
	}
	s.w.step(event.BarUsers{Users: users})
}

// next prints when a job is planned to start.
func (s *story) next(words []string) {
	v, n := s.w.engine.View(), 1
	if len(words) > 1 {
		n = int(s.run(words[1]))
	}
	i, ok := v.Find(job.ID(words[0]))
	if !ok {
		s.t.Fatalf("story: no job %s", words[0])
	}
	for at := s.w.now.Wall; n > 0; n-- {
		if at = v.Next(i, at); at.IsZero() {
			fmt.Fprintln(s.out, "  never")
			return
		}
		fmt.Fprintln(s.out, "  "+at.In(s.w.zone).Format(time.DateTime))
	}
}

// trouble prints the troubles of a job in a view.
func (s *story) trouble(id job.ID) {
	v := s.w.engine.View()
	i, ok := v.Find(id)
	if !ok {
		s.t.Fatalf("story: no job %s", id)
	}
	t := v.Problems(i)
	fmt.Fprintf(s.out, "  late %t, unseen %t\n", t.Late, t.Unseen)
	if h := v.Hold(i); h != nil {
		until := "it is resumed"
		if !h.Until.IsZero() {
			until = s.w.clock(h.Until)
		}
		fmt.Fprintf(s.out, "  held since %s until %s by %s: %s\n", s.w.clock(h.Since), until, h.By, h.Reason)
	}
}

func (s *story) command(words []string, body string) {
	h := s.w
	switch verb := words[0]; verb {
	case "start":
		s.start(words[1:])
		return
	case "load", "also", "first":
		if verb == "load" {
			s.texts = nil
		}
		switch x := (crontabText{words[1:], body + "\n"}); {
		case body == "":
		case verb == "first":
			s.texts = slices.Insert(s.texts, 0, x)
		default:
			s.texts = append(s.texts, x)
		}
		s.parse()
		if h.engine == nil {
			h.start()
			return
		}
		h.step(h.load())
	case "zone":
		h.zone = s.zone(words[1])
		s.parse()
		h.step(h.load())
	case "stamps":
		s.stamps(words[1:])
		return
	case "limits":
		h.limits = s.limits(words[1:])
		return
	case "rate":
		h.rate, _ = strconv.Atoi(words[1])
		return
	case "blackout":
		h.blackouts = s.blackout(words[1:])
		return
	case "bar":
		s.barUsers(words[1:])
	case "next":
		s.next(words[1:])
		return
	case "trouble":
		s.trouble(job.ID(words[1]))
		return
	case "until":
		h.advance(s.time(words[1]))
		return
	case "end":
		delete(h.running, s.run(words[1]))
		h.owed = append(h.owed, event.Ended{Run: s.run(words[1]), Outcome: s.outcome(words[2]), Unrun: words[2] == "unrun"})
	case "beat":
		h.step(event.Asked{Question: event.Beat{Run: s.run(words[1])}, Token: 1})
	case "check":
		h.answer(s.run(words[1]), s.outcome(words[2]))
	case "met":
		h.meet(s.run(words[1]), event.Unmet{})
	case "unmet": // unmet 1 wait load it is 5
		h.meet(s.run(words[1]), event.Unmet{Skip: words[2] == "skip", Options: words[3], Detail: job.Text(strings.Join(words[4:], " "))})
	case "clock":
		h.set(s.duration(words[1]))
	case "sleep":
		h.sleep(s.duration(words[1]))
	case "die":
		h.die()
		return
	case "backfill":
		s.backfill(words[1:])
	case "fillstop":
		h.step(event.Asked{Question: event.StopBackfill{ID: int64(s.run(words[1])), By: "ann"}, Token: 1})
	case "emit":
		s.emit(words)
	case "files":
		slot, _ := h.engine.jobs.Find(job.ID(words[1]))
		j := h.engine.job(slot)
		h.step(event.Files{Job: job.Owned{Job: j.ID, User: j.User}, Newest: s.time(words[2]), Paths: words[3:]})
	case "ring":
		s.ring(words[1:])
		return
	case "members":
		s.members(words[1:])
	case "claim", "took", "gone", "left", "depart", "deprived", "doubled":
		s.ringEvent(words)
	case "owner":
		s.owner(job.ID(words[1]), s.time(words[2]))
		return
	case "drain":
		h.step(event.Drain{})
	case "abandon":
		h.step(event.Abandon{})
	default:
		s.ask(words)
	}
	h.step()
	h.settle()
}

func (s *story) ring(words []string) {
	s.w.ring, s.w.labels = map[string]event.RingMode{"none": event.NoRing, "available": event.Available, "strict": event.Strict}[words[0]], map[string]string{}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, ":")
		s.w.labels[key] = value
	}
}

func (s *story) members(words []string) {
	m, newest := &holders.Membership{Self: "box"}, map[job.Key]time.Time{}
	s.hosts = map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "barred":
			m.Barred = value
			continue
		case "clock":
			m.Clock = s.w.now
			continue
		case "newest":
			id, at, _ := strings.Cut(value, "@")
			newest[s.ringKey(id)] = s.time(at)
			continue
		}
		parts := strings.Split(word, ",")
		x := holders.Member{
			ID: parts[0], Name: parts[0] + ".example.org", Weight: 1,
			Labels: map[string]string{}, Lacks: map[job.Key]holders.Lack{},
		}
		for _, part := range parts[1:] {
			if label, value, ok := strings.Cut(part, ":"); ok && !strings.Contains(label, "=") {
				x.Labels[label] = value
				continue
			}
			key, value, _ := strings.Cut(part, "=")
			switch key {
			case "draining":
				x.Draining = true
			case "lacks":
				x.Lacks[s.ringKey(value)] = holders.Lack{Ours: job.Key{1}}
			case "differs":
				x.Lacks[s.ringKey(value)] = holders.Lack{Ours: job.Key{1}, Theirs: job.Key{2}}
			default:
				s.t.Fatalf("story: no such word of a member: %s", part)
			}
		}
		m.Members = append(m.Members, x)
		s.hosts[x.ID] = x.Name
	}
	s.w.step(fromRing{received: holders.Ring{Membership: m, Newest: newest}})
}

// ringKey returns the ring key of an installed job, or else of a job of root elsewhere.
func (s *story) ringKey(id string) job.Key {
	v := s.w.engine.View()
	if i, ok := v.Find(job.ID(id)); ok {
		if key, ok := v.RingKey(i); ok {
			return key
		}
	}
	return job.KeyOf(job.ID(id), "root")
}

func (s *story) ringEvent(words []string) {
	switch words[0] {
	case "gone":
		phase := map[string]exchange.Phase{"taken": exchange.Taken, "begun": exchange.Begun}[words[4]]
		x := s.report(words[1], words[2], words[3], phase)
		x.Attempt = uint16(phase - exchange.Taken)
		if len(words) > 5 {
			x.Attempt, x.Lost = uint16(s.run(words[5])), uint8(s.run(words[6]))
		}
		s.w.step(fromRing{received: holders.Changes{Orphans: []holders.Report{x}}})
		return
	case "left":
		x := s.report(words[1], words[2], words[3], exchange.Taken)
		x.Attempt, x.Lost, x.Left, x.Tried = uint16(s.run(words[4])), uint8(s.run(words[5])), true, words[6:]
		s.w.step(fromRing{received: holders.Changes{Orphans: []holders.Report{x}}})
		return
	case "depart":
		s.w.step(fromRing{received: holders.Departing{}})
		return
	}
	o := exchange.OccurrenceOf(s.ringKey(words[1]), s.time(words[2]))
	switch words[0] {
	case "took":
		s.w.step(fromRing{received: holders.Changes{Others: []exchange.Occurrence{o}}})
	case "deprived":
		s.w.step(fromRing{received: holders.Changes{Yielded: []holders.Report{s.report(words[3], words[1], words[2], exchange.Taken)}}})
	case "doubled":
		x := s.report(words[3], words[1], words[2], exchange.Begun)
		x.Run, x.Host = 7, words[3]
		s.w.step(fromRing{received: holders.Changes{Doubled: []holders.Report{x}}})
	case "claim":
		c := holders.Claimed{Occurrence: o}
		grant, value, _ := strings.Cut(words[3], "=")
		switch grant {
		case "granted":
			c.Grant = holders.Granted
			if value != "" {
				c.Token = uint64(s.run(value))
			}
		case "refused":
			c.Grant, c.By = holders.Refused, value
		case "unknown":
			c.Grant = holders.Postponed
		}
		s.w.step(fromRing{received: c})
	}
}

// report returns the mark of a member, whose host is in the membership or is named like it.
func (s *story) report(member, id, due string, phase exchange.Phase) holders.Report {
	x := holders.Report{Mark: holders.Mark{Occurrence: exchange.OccurrenceOf(s.ringKey(id), s.time(due)), Member: member, Phase: phase}}
	x.Host = cmp.Or(s.hosts[member], member)
	return x
}

func (s *story) owner(id job.ID, at time.Time) {
	v := s.w.engine.View()
	i, _ := v.Find(id)
	owner, ok := v.Owner(i, at)
	if !ok {
		fmt.Fprintln(s.out, "  nobody knows")
		return
	}
	first := ""
	if len(owner.Members) > 0 && owner.Members[0].Against == "" {
		first = owner.Members[0].Name
	}
	if got := v.Owners()(i, at); got != first {
		s.t.Errorf("story: %s at %s is said to be %q's, want %q", id, at, got, first)
	}
	for k, c := range owner.Members {
		if c.Against != "" {
			fmt.Fprintf(s.out, "  -  %s: %s\n", c.ID, c.Against)
		} else {
			fmt.Fprintf(s.out, "  %d  %s\n", k, c.ID)
		}
	}
}

func (s *story) ask(words []string) {
	id, by, token := job.ID(words[1]), "ann", effect.Token(1)
	has := func(word string) bool { return slices.Contains(words, word) }
	if has("by=root") {
		by = "root"
	}
	switch words[0] {
	case "run":
		s.w.step(event.Asked{Question: event.RunNow{Job: id, By: by, Force: has("force"), Env: valuesOf(words, "env=")}, Token: token})
	case "stop":
		s.w.step(event.Asked{Question: s.stop(event.Stop{Job: id, By: by}, words), Token: token})
	case "pause":
		h := job.Hold{By: by}
		for _, word := range words[2:] {
			if from, ok := strings.CutPrefix(word, "from="); ok {
				h.From = s.time(from)
			} else if word == "skips" {
				h.Skips = true
			} else {
				h.Until = s.time(strings.TrimPrefix(word, "until="))
			}
		}
		s.w.step(event.Asked{Question: event.Pause{Job: id, Hold: h}, Token: token})
	case "resume":
		s.w.step(event.Asked{Question: event.Resume{Job: id, By: by}, Token: token})
	case "redrive":
		s.w.step(event.Asked{Question: event.Redrive{Dead: s.w.store.Dead[s.run(words[1])], By: by}, Token: token})
	case "drop":
		s.w.step(event.Asked{Question: event.Bury{Dead: s.w.store.Dead[s.run(words[1])], By: by}, Token: token})
	default:
		s.t.Fatalf("story: no such command: %q", words)
	}
}

// stop adds signal= and after= of words to a person's stop request.
func (s *story) stop(ev event.Stop, words []string) event.Stop {
	var err error
	for _, name := range valuesOf(words, "signal=") {
		ev.Signal, err = option.ParseSignal(name)
	}
	for _, text := range valuesOf(words, "after=") {
		ev.Grace, err = option.ParseDuration(text)
	}
	if err != nil {
		s.t.Fatalf("story: %q: %v", words, err)
	}
	return ev
}

// valuesOf returns the values of all fields with a prefix.
func valuesOf(words []string, prefix string) (values []string) {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, prefix); ok {
			values = append(values, value)
		}
	}
	return values
}

func (s *story) start(words []string) {
	zone := time.UTC
	for _, word := range words[1:] {
		if name, ok := strings.CutPrefix(word, "zone="); ok {
			zone = s.zone(name)
		}
	}
	if s.w == nil {
		s.w = newSimHost(s.t, time.Time{}, zone)
		s.w.log = func(e effect.Effect) {
			if line := s.w.notify(e); line != "" {
				fmt.Fprintln(s.out, line)
			}
		}
	}
	before := s.w.now.Wall
	s.w.zone = zone
	s.w.now.Wall = s.time(words[0])
	s.w.booted = slices.Contains(words, "booted")
	s.w.adopted = slices.Contains(words, "adopted")
	if slices.Contains(words, "family=rhel") {
		s.w.family = crontab.RHEL
	}
	if s.w.adopted {
		s.w.now.Up += s.w.now.Wall.Sub(before)
	}
	if s.w.crontabs != nil {
		s.w.start()
		s.w.settle()
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
	switch kind {
	case "lost":
		return job.Outcome{Kind: job.Lost, Error: "the kernel does not tell"}
	case "unstarted", "unrun":
		return job.Outcome{Kind: job.NotStarted, Error: "no such shell"}
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		s.t.Fatalf("story: %v", err)
	}
	if kind == "signal" {
		return job.Outcome{Kind: job.Signalled, Signal: n}
	}
	return job.Outcome{Kind: job.Exited, Code: n}
}
