package spawn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/credential"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
)

// secrets is the directory with the credentials of a run.
type secrets struct {
	dir   string        // "": none
	space *budget.Lease // for its files
}

func (d secrets) drop() {
	if d.dir != "" {
		credential.Remove(d.dir)
		d.space.Release()
	}
}

// readPatience limits the time to read a credential.
const readPatience = 30 * time.Second

func credentialsOf(start *effect.Start) []option.Credential {
	if i := command.OptionsOf(start).Isolation; i != nil {
		return i.Credentials
	}
	return nil
}

// MissingCredentials returns why this host cannot provide credentials, or "".
func (s *Spawner) MissingCredentials(all []option.Credential) string {
	if s.options.Runs == "" {
		return "credential= requires a runtime directory"
	}
	for _, one := range all {
		if !credential.IsEncrypted(one) {
			continue
		}
		if _, err := findProgram(decrypter); err != nil {
			return "credential=" + one.String() + " requires systemd-creds: " + err.Error()
		}
	}
	return credential.Missing(credential.Dir(s.options.Runs))
}

// decrypter is the program of systemd for credentials.
const decrypter = "systemd-creds"

// fetchCredentials has the credentials of a run read, and its group made, by a goroutine of its
// user. The run is queued again afterwards.
func (s *Spawner) fetchCredentials(ctx context.Context, c *child, who account.Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups.begin(c, false) {
		return
	}
	s.calls.Add(c.user, func() {
		own, err := s.makeCredentials(ctx, c, who)
		m := made{err: err}
		if err == nil && !s.takesSession(c) && s.needsGroup(c) {
			m = s.makeGroup(ctx, c)
		}
		m.secrets = own
		s.prepared(c, m)
	})
}

// pauseWaits reports whether a group is being made that a pause waits for.
func (p *preparing) pauseWaits() bool {
	for _, waits := range p.all {
		if waits {
			return true
		}
	}
	return false
}

func (s *Spawner) makeCredentials(ctx context.Context, c *child, who account.Account) (secrets, error) {
	if s.cancelled(c) {
		return secrets{}, errCancelled
	}
	if why := s.MissingCredentials(credentialsOf(c.start)); why != "" {
		return secrets{}, errors.New(why)
	}
	if !s.hasInodes(c.user) {
		return secrets{}, fmt.Errorf("credential=: %w", errNoInodes)
	}
	var files []credential.File
	total := 0
	for _, one := range credentialsOf(c.start) {
		data, err := s.readCredential(ctx, c, who, one, credential.MaxBytes-total)
		if err != nil {
			return secrets{}, fmt.Errorf("credential=%s: %w", one, err)
		}
		total += len(data)
		files = append(files, credential.File{ID: one.ID, Data: data})
	}
	space := s.space.Lease(c.user)
	if !space.Grow(int64(total)) {
		return secrets{}, errors.New("credential=: the runs of " + c.user + " use too much of the memory for files")
	}
	dir, err := credential.Make(credential.Dir(s.options.Runs), c.groupName(), who.UID, files)
	if err != nil {
		space.Release()
	}
	return secrets{dir, space}, err
}

// readCredential has another process read a credential: one of the user if the user's own crontab
// names the file, so that nobody reads files of root through it.
func (s *Spawner) readCredential(ctx context.Context, c *child, who account.Account, one option.Credential, room int) ([]byte, error) {
	own := command.IsOwn(c.start.Entry, "credential")
	argv := []string{"head", "-c", strconv.Itoa(room + 1), "--", one.Path} // not the rest of a file that never ends
	if credential.IsEncrypted(one) {
		argv = []string{decrypter, "decrypt", "--name=" + one.ID, one.Path, "-"}
		if own && who.UID != 0 {
			argv = []string{decrypter, "decrypt", "--user", "--name=" + one.ID, one.Path, "-"}
		}
	}
	tool := Tool{Argv: argv, Env: []string{"LC_ALL=C", "PATH=/usr/bin:/bin", "HOME=" + who.Home}, MaxOutput: room + 1}
	if own {
		tool.As = &who
	}
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	switch done, err := s.Exec(ctx, tool); {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("not read within %v", readPatience)
	case err != nil:
		return nil, err
	case done.Outcome != job.Outcome{Kind: job.Exited}:
		return nil, errors.New(diagnostic.Harmless(strings.TrimSpace(done.Outcome.String() + ": " + string(done.Errput))))
	case len(done.Output) > room:
		return nil, fmt.Errorf("the credentials of a run have more than %d bytes", credential.MaxBytes)
	default:
		return done.Output, nil
	}
}

// dropCredentials removes those of a run that has ended.
func (s *Spawner) dropCredentials(c *child) {
	c.secrets.drop()
	c.secrets = secrets{}
}

// adoptCredentials finds those of runs that another daemon began, and removes the others.
func (s *Spawner) adoptCredentials() {
	if s.options.Runs == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for dir, name := range credential.Left(credential.Dir(s.options.Runs)) {
		run, err := strconv.ParseInt(name, 10, 64)
		c := s.living[job.RunID(run)]
		own := secrets{dir, nil}
		if err != nil || c == nil {
			own.drop()
			continue
		}
		own.space = s.space.Lease(c.user)
		own.space.Add(credential.Size(dir))
		c.secrets = own
	}
}
