package job

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
)

// ID identifies a job everywhere: in history, dependencies, commands and the
// ring. It consists of the owner of the crontab and the name of the entry, so
// that no crontab can change or imitate a job of another owner:
//
//   - A job of a user's crontab is USER/NAME, for example alice/backup.
//   - A job of root's crontabs, or of a file named on the command line, is NAME.
//
// The name is the name= option, or is derived by DeriveID. No name contains a
// slash, so everything before the first slash is the owner.
type ID string

// root owns the crontabs of the host and files named on the command line.
const root = "root"

// NewID makes the ID of an owner's job. The name must not contain a slash.
func NewID(owner, name string) ID {
	if owner == root {
		return ID(name)
	}
	return ID(owner + "/" + name)
}

// Owner returns the user whose crontab the job is in.
func (id ID) Owner() string {
	if owner, _, ok := strings.Cut(string(id), "/"); ok {
		return owner
	}
	return root
}

// Name returns the name of the job, without its owner.
func (id ID) Name() string {
	if _, name, ok := strings.Cut(string(id), "/"); ok {
		return name
	}
	return string(id)
}

// Full returns OWNER/NAME also for root's jobs. ParseID accepts this form, which distinguishes
// root's job NAME from a bare name.
func (id ID) Full() string { return id.Owner() + "/" + id.Name() }

// ParseID reads OWNER/NAME. If the text has no slash, it is a bare name, which
// jobs of several owners can have: ok is false.
func ParseID(text string) (id ID, ok bool) {
	owner, name, ok := strings.Cut(text, "/")
	if !ok {
		return "", false
	}
	return NewID(owner, name), true
}

// IsGlob reports whether a reference to jobs is a pattern for their names.
func IsGlob(text string) bool { return strings.ContainsAny(text, "*?[") }

// Matches reports whether a glob selects the job: by its name, or by OWNER/NAME
// if the glob has a slash. The syntax is that of path.Match.
func (id ID) Matches(glob string) bool {
	name := id.Name()
	if strings.Contains(glob, "/") {
		name = id.Full()
	}
	ok, _ := path.Match(glob, name)
	return ok
}

// DeriveID returns the ID of an entry without a name= option. The name consists of eight hex digits
// of the command's SHA-256 and, from the second identical entry on, an ordinal. In root's crontabs,
// the file's stem and the user precede it. Time fields and line number do not count, so a job keeps
// its history when its time or its line changes.
func DeriveID(owner, file, user, command string, twin int) ID {
	sum := sha256.Sum256([]byte(command))
	var usual [128]byte // on the stack
	id := usual[:0]
	if owner == root {
		id = appendStem(id, file)
		id = append(id, '.')
		id = appendUser(id, user)
		id = append(id, '.')
	} else {
		id = append(id, owner...)
		id = append(id, '/')
	}
	id = hex.AppendEncode(id, sum[:4])
	if twin > 1 {
		id = append(id, '-')
		id = strconv.AppendInt(id, int64(twin), 10)
	}
	return ID(id)
}

// appendUser appends the user column of an entry. A slash becomes an underscore, because ParseID
// ends the owner at a slash.
func appendUser(id []byte, user string) []byte {
	at := len(id)
	id = append(id, user...)
	for i := at; i < len(id); i++ {
		if id[i] == '/' {
			id[i] = '_'
		}
	}
	return id
}

// appendStem appends a file's name without directory and suffix. Each byte that
// name= does not allow becomes an underscore.
func appendStem(id []byte, path string) []byte {
	path = path[strings.LastIndexByte(path, '/')+1:]
	if path == "" || path == "-" {
		return append(id, "stdin"...)
	}
	if i := strings.LastIndexByte(path, '.'); i > 0 {
		path = path[:i]
	}
	for _, c := range []byte(path) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			id = append(id, c)
		default:
			id = append(id, '_')
		}
	}
	return id
}
