package account

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

const (
	passwdText = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1::/usr/sbin:/usr/sbin/nologin
bob:x:1000:1000:Bob,,,:/home/bob:/bin/zsh
bob:x:1007:1007:a later line:/elsewhere:/bin/sh
rob:x:1000:1000:the same number:/home/rob:/bin/sh
4711:x:1003:100::/home/4711:/bin/sh
nohome:x:1004:100:::
+nis
+@netgroup::::::
-out:x:1:1:::
#gone:x:1005:100::/:/bin/sh
short:x:1006
badnumber:x:12x:1::/:
huge:x:4294967296:1::/:
nobody4:x:4294967295:1::/:
`
	groupText = `root:x:0:
adm:x:4:bob,syslog
sudo:x:27:bob
users:x:100:bob
bob:x:1000:bob
docker:x:999:lena
+wheel::10:bob
bad:x:zz:bob
`
	switchFiles = "passwd: files systemd\ngroup: files [SUCCESS=merge] systemd\nhosts: files dns\n"
	switchSSS   = "passwd: sss files # comment: ldap\ngroup:\tfiles sss\n"
)

// testDirectory is a Directory with files of its own.
type testDirectory struct {
	t    testing.TB
	root string
	*Directory
}

func newTestDirectory(t testing.TB, files map[string]string) *testDirectory {
	t.Helper()
	h := &testDirectory{t: t, root: t.TempDir()}
	for path, text := range files {
		h.write(path, text)
	}
	h.Directory = New(Options{Root: h.root})
	return h
}

func (h *testDirectory) write(path, text string) {
	h.t.Helper()
	filetest.Write(h.t, h.root+path, text, 0o644)
}

func basic(nss string) map[string]string {
	return map[string]string{"/etc/passwd": passwdText, "/etc/group": groupText, "/etc/nsswitch.conf": nss}
}

func TestFindInFiles(t *testing.T) {
	h := newTestDirectory(t, basic(switchFiles))
	own := strconv.Itoa(os.Geteuid())
	for _, test := range []struct {
		name string
		want Account
	}{
		{"root", Account{"root", 0, 0, []uint32{0}, "/root"}},
		{"bob", Account{"bob", 1000, 1000, []uint32{1000, 4, 27, 100}, "/home/bob"}},
		{"rob", Account{"rob", 1000, 1000, []uint32{1000}, "/home/rob"}},
		{"4711", Account{"4711", 1003, 100, []uint32{100}, "/home/4711"}},
		{"nohome", Account{"nohome", 1004, 100, []uint32{100}, ""}},
		{own, Account{own, uint32(os.Geteuid()), uint32(os.Getegid()), []uint32{uint32(os.Getegid())}, os.Getenv("HOME")}},
	} {
		got, err := h.Find(t.Context(), test.name)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("Find(%q) = %+v, %v; want %+v", test.name, got, err, test.want)
		}
		if known, ok := h.Known(test.name); !ok || !reflect.DeepEqual(known, test.want) {
			t.Errorf("Known(%q) = %+v, %v; want %+v", test.name, known, ok, test.want)
		}
	}
	for _, name := range []string{"", "nobody", "+nis", "-out", "#gone", "short", "badnumber", "huge", "nobody4", "+", "../passwd", "a\nb:x:0:0::/:"} {
		got, err := h.Find(t.Context(), name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Name != name {
			t.Errorf("Find(%q) = %+v, %v; want an UnknownError", name, got, err)
		}
		if _, ok := h.Known(name); ok {
			t.Errorf("Known(%q) = true", name)
		}
	}
}

func TestNameInFiles(t *testing.T) {
	h := newTestDirectory(t, basic(switchFiles))
	for uid, want := range map[uint32]string{0: "root", 1000: "bob", 1003: "4711", 5555: ""} {
		got, err := h.Name(t.Context(), uid)
		var unknown *UnknownError
		if got != want || errors.As(err, &unknown) != (want == "") {
			t.Errorf("Name(%d) = %q, %v; want %q", uid, got, err, want)
		}
	}
}

func TestUnknownErrorHidesControlBytes(t *testing.T) {
	if got, want := (&UnknownError{Name: "a\x1b[2J"}).Error(), `unknown user "a\x1b[2J"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFindSeesChangedFilesAtOnce(t *testing.T) {
	h := newTestDirectory(t, basic(switchFiles))
	for i := range 50 {
		name := "user" + strconv.Itoa(i%2) // of equal length, so that the file's size stays the same
		h.write("/etc/passwd", name+":x:7:7::/:\n")
		h.write("/etc/group", "g:x:8:"+name+"\n")
		got, err := h.Find(t.Context(), name)
		if want := (Account{name, 7, 7, []uint32{7, 8}, "/"}); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("change %d: Find = %+v, %v; want %+v", i, got, err, want)
		}
	}
}

func TestFindReadsUnchangedFilesOnce(t *testing.T) {
	// A file of our own would be too young, as /etc/passwd is for a moment after a change.
	old := []string{"/etc/passwd", "/no/such/file"}
	for end := time.Now().Add(hosttest.Patience); ; time.Sleep(time.Millisecond) {
		stamps, settled := stampAll(old)
		if settled {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("/etc/passwd changed at %v, which is in the future", time.Unix(stamps[0].changed.Unix()))
		}
	}
	reads := 0
	c := cached[int]{}
	for range 3 {
		got, err := c.get(old, func() (int, error) { reads++; return reads, nil })
		if got != 1 || err != nil {
			t.Errorf("got %d, %v; want what was read first", got, err)
		}
	}
}

func TestFindUnreadableFileIsNoUnknownUser(t *testing.T) {
	h := newTestDirectory(t, map[string]string{"/etc/group": ""})
	if err := os.Mkdir(h.root+"/etc/passwd", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := h.Find(t.Context(), "bob")
	var unknown *UnknownError
	if err == nil || errors.As(err, &unknown) {
		t.Errorf("got %v, want an error that is not about bob", err)
	}
	if _, ok := h.Known("bob"); ok {
		t.Error("Known = true")
	}
}

func TestSwitch(t *testing.T) {
	for _, test := range []struct {
		text string
		want sources
	}{
		{"", sources{}},
		{switchFiles, sources{}},
		{switchSSS, sources{true, true}},
		{"passwd: files ldap", sources{users: true}},
		{"passwd: files\ngroup: files\ninitgroups: files sss", sources{groups: true}},
		{"passwd: files\ngroup: files ldap\ninitgroups: files", sources{}},
		{"passwd: files [NOTFOUND=return] sss", sources{users: true}},
		{"passwd: files[!UNAVAIL=return]\ngroup:compat", sources{}},
		{"#passwd: ldap\n passwd : compat systemd\n\x00:\xff", sources{}},
	} {
		if got := parseSwitch(test.text); got != test.want {
			t.Errorf("parseSwitch(%q) = %+v, want %+v", test.text, got, test.want)
		}
	}
}

// service is a directory service behind getent and id.
type service struct {
	mu     sync.Mutex
	people map[string]string // lines by name
	groups map[string]string // lines by number
	member map[string]string // what id prints, by name
	down   bool              // as a service that is down looks through getent
	hangs  bool
	calls  []string
}

func (s *service) exec(ctx context.Context, argv ...string) ([]byte, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.Join(argv, " "))
	if s.hangs {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return nil, -1, nil
	}
	switch {
	case s.down:
		return nil, 2, nil
	case argv[0] == "id":
		return []byte(s.member[argv[3]] + "\n"), boolStatus(s.member[argv[3]] != "", 1), nil
	case argv[2] == "passwd":
		line := s.people[argv[3]]
		return []byte(line + "\n"), boolStatus(line != "", 2), nil
	}
	out, status := "", 0
	for _, key := range argv[3:] {
		if s.groups[key] == "" {
			status = 2
			continue
		}
		out += s.groups[key] + "\n"
	}
	return []byte(out), status, nil
}

func boolStatus(ok bool, otherwise int) int {
	if ok {
		return 0
	}
	return otherwise
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *service) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func lenasService() *service {
	lena := "lena:*:60000:60001:Lena:/home/lena:/bin/bash"
	return &service{
		people: map[string]string{"lena": lena, "60000": lena},
		groups: map[string]string{"60001": "staff:*:60001:", "staff": "staff:*:60001:"},
		member: map[string]string{"lena": "60001 60002 999", "bob": "1000 4 27 100 60002"},
	}
}

// served is a host with a directory service.
func served(t testing.TB, s *service) *testDirectory {
	h := newTestDirectory(t, basic(switchSSS))
	h.options.Exec = s.exec
	h.Directory.tools = func() tools { return tools{"getent", "id"} }
	return h
}

func (h *testDirectory) find(name string) Account {
	h.t.Helper()
	a, err := h.Find(h.t.Context(), name)
	if err != nil {
		h.t.Fatalf("Find(%q): %v", name, err)
	}
	return a
}

var (
	lena = Account{"lena", 60000, 60001, []uint32{60001, 999, 60002}, "/home/lena"}
	bob  = Account{"bob", 1000, 1000, []uint32{1000, 4, 27, 100, 60002}, "/home/bob"}
)

func TestFindAsksTheService(t *testing.T) {
	s := lenasService()
	h := served(t, s)
	for _, want := range []Account{lena, bob} {
		if _, ok := h.Known(want.Name); ok {
			t.Errorf("Known(%q) = true before anybody asked", want.Name)
		}
		if got := h.find(want.Name); !reflect.DeepEqual(got, want) {
			t.Errorf("Find(%q) = %+v, want %+v", want.Name, got, want)
		}
		if got, ok := h.Known(want.Name); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("Known(%q) = %+v, %v; want %+v", want.Name, got, ok, want)
		}
	}
	want := []string{"getent -- passwd lena", "id -G -- lena", "id -G -- bob"}
	if got := s.asked(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	if name, err := h.Name(t.Context(), 60000); name != "lena" || err != nil {
		t.Errorf("Name(60000) = %q, %v; want lena", name, err)
	}
}

func TestFindNeverAsksForRootAndStrangeNames(t *testing.T) {
	s := lenasService()
	h := served(t, s)
	for _, name := range []string{"root", "-x", "+1000", "1000", "4711", "a/b", "a:b", "a\nb", "\x7f", "", "#x", strings.Repeat("a", 257)} {
		_, err := h.Find(t.Context(), name)
		var unknown *UnknownError
		if err != nil && !errors.As(err, &unknown) {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("asked %q, want nothing", asked)
	}
}

func TestFindDoubtsTheService(t *testing.T) {
	for what, line := range map[string]string{
		"root":              "lena:*:0:0::/root:/bin/sh",
		"no line":           "what?",
		"a number too many": "lena:*:99999999999:1::/:/bin/sh",
		"nothing":           " ",
		"control bytes":     "le\x1bna:*:60000:60001::/:/bin/sh",
	} {
		s := lenasService()
		s.people["lena"] = line
		got, err := served(t, s).Find(t.Context(), "lena")
		var unknown *UnknownError
		if err == nil || errors.As(err, &unknown) {
			t.Errorf("%s: Find = %+v, %v; want an error about the service", what, got, err)
		}
	}
}

func TestFindRemembersAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		h := served(t, s)
		h.find("lena")
		time.Sleep(fresh - time.Second)
		h.find("lena")
		if asked := len(s.asked()); asked != 2 {
			t.Errorf("asked %d times, want 2: getent and id once", asked)
		}
		s.set(func() { s.member["lena"] = "60001" })
		time.Sleep(time.Second)
		want := Account{"lena", 60000, 60001, []uint32{60001, 999}, "/home/lena"} // 999 by /etc/group
		if got := h.find("lena"); !reflect.DeepEqual(got, want) {
			t.Errorf("after a minute: %+v, want %+v", got, want)
		}
		h.write("/etc/group", "")
		want.Groups = []uint32{60001}
		if got, ok := h.Known("lena"); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("after leaving the local group: %+v, %v; want %+v", got, ok, want)
		}
	})
}

func TestFindForgetsThatSomebodyIsUnknown(t *testing.T) {
	s := lenasService()
	h := served(t, s)
	_, err := h.Find(t.Context(), "new")
	var unknown *UnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("Find(new): %v, want an UnknownError", err)
	}
	s.set(func() {
		s.people["new"] = "new:*:60009:60001::/:/bin/sh"
		s.member["new"] = "60001"
	})
	if got := h.find("new"); got.UID != 60009 {
		t.Errorf("Find(new) = %+v, want uid 60009", got)
	}
}

// A user can connect with thousands of uids that belong to nobody.
func TestUnknownUIDsCauseFewQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		h := served(t, s)
		for range 3 {
			_, err := h.Name(t.Context(), 165536)
			var unknown *UnknownError
			if !errors.As(err, &unknown) || h.HasUser(165536) {
				t.Fatalf("Name(165536): %v, want an UnknownError", err)
			}
		}
		if asked := s.asked(); len(asked) != 1 {
			t.Errorf("asked %q for one uid, want one query", asked)
		}
		s.set(func() { s.people["165536"] = "new:*:165536:60001::/:/bin/sh" })
		time.Sleep(respite)
		if name, err := h.Name(t.Context(), 165536); name != "new" || err != nil || !h.HasUser(165536) || len(h.unknown) > 1 {
			t.Errorf("after %v: Name(165536) = %q, %v; want new", respite, name, err)
		}
		h.find("lena")
		time.Sleep(2 * fresh)
		s.asked()
		s.set(func() { s.hangs = true })
		var over sync.WaitGroup
		for uid := range uint32(20) {
			over.Go(func() { h.Name(t.Context(), 200_000+uid) })
		}
		synctest.Wait()
		if asked := s.asked(); len(asked) != maxLookups {
			t.Errorf("%d queries for unknown uids at a time, want %d", len(asked), maxLookups)
		}
		over.Go(func() { h.Name(t.Context(), lena.UID) })
		synctest.Wait()
		if asked := s.asked(); len(asked) != 1 || !h.HasUser(lena.UID) {
			t.Errorf("asked %q, want that a known user does not wait for unknown ones", asked)
		}
		over.Wait()
	})
}

func TestFindLivesThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		h := served(t, s)
		h.find("lena")
		h.find("bob")
		if _, err := h.Name(t.Context(), 60000); err != nil {
			t.Fatal(err)
		}
		for _, outage := range []func(){
			func() { s.down = true },
			func() { s.down, s.hangs = false, true },
		} {
			s.set(outage)
			time.Sleep(2 * time.Minute)
			if got := h.find("lena"); !reflect.DeepEqual(got, lena) {
				t.Errorf("Find(lena) = %+v, want %+v", got, lena)
			}
			s.asked()
			if got, ok := h.Known("lena"); !ok || !reflect.DeepEqual(got, lena) || len(s.asked()) > 0 {
				t.Errorf("Known(lena) after a failure = %+v, %v; want %+v without asking", got, ok, lena)
			}
			if got := h.find("bob"); !reflect.DeepEqual(got, bob) {
				t.Errorf("Find(bob) = %+v, want %+v", got, bob)
			}
		}
		if name, err := h.Name(t.Context(), 60000); name != "lena" || err != nil {
			t.Errorf("Name(60000) = %q, %v; want lena", name, err)
		}
		time.Sleep(outage)
		if got, err := h.Find(t.Context(), "lena"); err == nil {
			t.Errorf("after a day: Find(lena) = %+v, want an error", got)
		}
		if got := h.find("bob"); got.UID != 1000 || slices.Contains(got.Groups, 60002) {
			t.Errorf("after a day: Find(bob) = %+v, want what the files say", got)
		}
	})
}

func TestFindLocalAccountWhileServiceWasNeverUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		s.hangs = true
		h := served(t, s)
		begun := time.Now()
		want := Account{"bob", 1000, 1000, []uint32{1000, 4, 27, 100}, "/home/bob"}
		if got := h.find("bob"); !reflect.DeepEqual(got, want) {
			t.Errorf("Find(bob) = %+v, want %+v", got, want)
		}
		if took := time.Since(begun); took != patience {
			t.Errorf("took %v, want %v", took, patience)
		}
		if _, ok := h.Known("bob"); !ok {
			t.Error("Known(bob) = false: every start would wait as the first did")
		}
		if _, ok := h.Known("root"); !ok {
			t.Error("Known(root) = false")
		}
	})
}

// A lookup that must not wait for groups returns at least the local user.
func TestFindLocalAccountWithoutItsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		s.hangs = true
		h := served(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := h.Find(ctx, "bob"); err == nil || got.Name != "bob" || got.UID != 1000 {
			t.Errorf("Find(bob) = %+v, %v; want his account and an error", got, err)
		}
		if got, err := h.Find(ctx, "lena"); err == nil || got.Name != "" {
			t.Errorf("Find(lena) = %+v, %v; want an error only", got, err)
		}
	})
}

func TestFindToldAGoneAccountFromAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		h := served(t, s)
		h.find("lena")
		s.set(func() { delete(s.people, "lena") }) // her group is still there
		time.Sleep(2 * time.Minute)
		_, err := h.Find(t.Context(), "lena")
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("Find(lena): %v, want an UnknownError", err)
		}
		s.set(func() { s.down = true })
		if got, err := h.Find(t.Context(), "lena"); err == nil {
			t.Errorf("afterwards: Find(lena) = %+v, want an error", got)
		}
	})
}

func TestFindAsksOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		h := served(t, s)
		release := make(chan struct{})
		h.options.Exec = func(ctx context.Context, argv ...string) ([]byte, int, error) {
			<-release
			return s.exec(ctx, argv...)
		}
		got := make(chan Account, 20)
		for range cap(got) {
			go func() {
				a, _ := h.Find(t.Context(), "lena")
				got <- a
			}()
		}
		synctest.Wait()
		close(release)
		for range cap(got) {
			if a := <-got; !reflect.DeepEqual(a, lena) {
				t.Errorf("Find(lena) = %+v, want %+v", a, lena)
			}
		}
		if asked := s.asked(); len(asked) != 2 {
			t.Errorf("asked %q, want getent and id once", asked)
		}
	})
}

func TestFindOutlivesWhoAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lenasService()
		s.hangs = true
		h := served(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := h.Find(ctx, "lena")
			first <- err
		}()
		synctest.Wait()
		second := make(chan Account, 1)
		go func() {
			a, _ := h.Find(t.Context(), "lena")
			second <- a
		}()
		synctest.Wait()
		s.set(func() { s.hangs = false })
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the first got %v, want %v", err, context.Canceled)
		}
		if a := <-second; !reflect.DeepEqual(a, lena) {
			t.Errorf("the second got %+v, want %+v", a, lena)
		}
	})
}

func TestFindWithoutTools(t *testing.T) {
	h := served(t, lenasService())
	h.Directory.tools = func() tools { return tools{} }
	_, err := h.Find(t.Context(), "lena")
	var unknown *UnknownError
	if err == nil || errors.As(err, &unknown) {
		t.Errorf("Find(lena): %v, want an error that is not about lena", err)
	}
	if got := h.find("bob"); got.UID != 1000 {
		t.Errorf("Find(bob) = %+v, want what the files say", got)
	}
}

// TestFindAsksTheRealTools has this machine's getent and id answer for its
// own root account, as if it were in a directory.
func TestFindAsksTheRealTools(t *testing.T) {
	if found := findTools(); found.getent == "" || found.id == "" {
		hosttest.Missing(t, "this machine has not both getent and id: %+v", found)
	}
	run := func(ctx context.Context, argv ...string) ([]byte, int, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = nil
		}
		return out, cmd.ProcessState.ExitCode(), err
	}
	h := newTestDirectory(t, map[string]string{"/etc/nsswitch.conf": switchSSS})
	h.options.Exec = run
	if _, err := h.Find(t.Context(), "root"); err == nil || !strings.Contains(err.Error(), "returned uid 0") {
		t.Errorf("Find(root): %v, want its refusal: getent was understood", err)
	}
	got := h.find("daemon")
	if got.Name != "daemon" || got.UID == 0 || !slices.Contains(got.Groups, got.GID) || got.Home == "" {
		t.Errorf("Find(daemon) = %+v", got)
	}
	if name, err := h.Name(t.Context(), got.UID); name != "daemon" || err != nil {
		t.Errorf("Name(%d) = %q, %v; want daemon", got.UID, name, err)
	}
	_, err := h.Find(t.Context(), "no-such-user")
	var unknown *UnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("Find(no-such-user): %v, want an UnknownError", err)
	}
	if gids, err := h.id(t.Context(), "root"); err != nil || !slices.Contains(gids, 0) {
		t.Errorf("id root = %v, %v", gids, err)
	}
}

func FuzzUsers(f *testing.F) {
	f.Add(passwdText, groupText, switchSSS)
	f.Fuzz(func(t *testing.T, users, members, nss string) {
		parseSwitch(nss)
		g := parseGroup(members)
		for name, a := range parsePasswd(users).byName {
			if name != a.Name || !isName(name) || strings.ContainsAny(name+a.Home, ":\n\x00") || a.UID == noID || a.GID == noID {
				t.Errorf("account %q is %+v", name, a)
			}
			if slices.Contains(g.of[name], noID) {
				t.Errorf("groups of %q are %v", name, g.of[name])
			}
		}
	})
}
