package revision

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/store/database"
)

// Revision is one version of a crontab file.
type Revision struct {
	ID   int64 // never given again
	File string
	User string // whose crontab it is
	UID  uint32 // of User, as it was then: names are given again
	At   time.Time
	By   string // who did it; "" when that is not known
	How  string // Installed and so on
	Gone bool   // the file was not there: Text is empty
	Size int    // of Text, in bytes
	Text []byte // Revisions leaves it out
}

// What made a version.
const (
	Installed = "install" // crontab(1)
	Removed   = "remove"  // crontab -r
	Undone    = "undo"    // an older version was restored
	Seen      = "seen"    // another program wrote the file
)

// Filter chooses revisions. Zero fields choose all.
type Filter struct {
	File   string
	User   string
	Before int64 // the last revision of the page before
	Limit  int   // 0: 100
}

// How many revisions of one file are kept. The newest few stay regardless of their age, and the
// newest two regardless of their size, so that the last change can be undone.
const (
	revisionsKept  = 100
	revisionsFew   = 10
	revisionsAge   = 90 * 24 * time.Hour
	revisionsBytes = 32 << 20 // as stored
)

// Archive keeps the versions of crontab files.
type Archive struct {
	db *database.DB
	mu sync.Mutex // held while a version is compared with the newest ones and stored
}

// New returns the archive of a history.
func New(db *database.DB) *Archive { return &Archive{db: db} }

// SaveRevision stores a version of a file and returns its number. If the newest version of that
// file has the same text, it returns that version's number. If that version was only seen a moment
// ago, it now gets its author: a watcher can report a change earlier or later than the request that
// made it. It also removes old versions.
func (a *Archive) SaveRevision(ctx context.Context, r Revision) (id int64, err error) {
	if r.Gone {
		r.Text = nil
	}
	sum := sumOf(r)
	newest, known, err := a.newestRevision(ctx, r.File)
	if err == nil && newest.ID != 0 && newest.UID == r.UID && bytes.Equal(known, sum) && !newest.isMadeBy(r) {
		return newest.ID, nil // the usual case: a starting host reports all of its files
	}
	packed, err := pack(r)
	if err != nil {
		return 0, fmt.Errorf("save revision: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if id, err = a.save(ctx, r, sum, packed); err != nil {
		return 0, fmt.Errorf("save revision: %w", err)
	}
	return id, nil
}

// save reads before the transaction, for which commits of runs wait: all connections that read may be in use.
func (a *Archive) save(ctx context.Context, r Revision, sum, packed []byte) (id int64, err error) {
	newest, known, err := a.newestRevision(ctx, r.File) // another goroutine may have saved one
	same := newest.ID != 0 && bytes.Equal(known, sum)
	if err != nil || same && !newest.isMadeBy(r) {
		return newest.ID, err
	}
	if !same && r.How == Seen {
		if id, err = a.findRecent(ctx, r, sum); err != nil || id != 0 {
			return id, err
		}
	}
	err = a.db.Write(ctx, func(w *database.Writer) (err error) {
		if same {
			id = newest.ID
			return w.Once(ctx, "UPDATE revision SET how = ?2, by = ?3 WHERE id = ?1", id, r.How, r.By)
		}
		id, err = putRevision(ctx, w, r, sum, packed)
		return err
	})
	return id, err
}

// sumOf returns the checksum of a text; nil if the file does not exist.
func sumOf(r Revision) []byte {
	if r.Gone {
		return nil
	}
	digest := sha256.Sum256(r.Text)
	return digest[:]
}

// pack makes the stored form of a revision's text, outside of any transaction.
func pack(r Revision) ([]byte, error) {
	if r.Gone {
		return nil, nil
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(r.Text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// maxReportDelay is the maximum time between the moment at which a version was seen and its report by
// the author.
const maxReportDelay = time.Minute

// isMadeBy reports whether a version that was seen is the one that its author reports now.
func (r Revision) isMadeBy(maker Revision) bool {
	late := maker.At.Sub(r.At)
	return r.How == Seen && maker.How != Seen && -maxReportDelay < late && late < maxReportDelay
}

// newestRevision returns the newest revision of a file, without its text, and its checksum; number
// 0 if there is none.
func (a *Archive) newestRevision(ctx context.Context, file string) (r Revision, sum []byte, err error) {
	err = a.db.Each(ctx, func(rows *sql.Rows) error { return r.scan(rows, &sum) },
		"SELECT "+revisionColumns+", sum FROM revision WHERE file = ? ORDER BY id DESC LIMIT 1", file)
	return r, sum, err
}

// findRecent returns a version with the same text that is not older than maxReportDelay; 0 if there is
// none.
func (a *Archive) findRecent(ctx context.Context, r Revision, sum []byte) (id int64, err error) {
	err = a.db.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		"SELECT id FROM revision WHERE file = ? AND uid = ? AND at > ? AND sum IS ? ORDER BY id DESC LIMIT 1",
		r.File, int64(r.UID), r.At.Add(-maxReportDelay).UnixNano(), blob(sum))
	if err != nil {
		return 0, fmt.Errorf("read revisions: %w", err)
	}
	return id, nil
}

const addRevision = "INSERT INTO revision (file, user, uid, at, by, how, size, sum, text) VALUES (?,?,?,?,?,?,?,?,?)"

const oldRevisions = `DELETE FROM revision WHERE id IN (SELECT id FROM (
	SELECT id, at, row_number() OVER newest AS place, sum(length(text)) OVER newest AS bytes
	FROM revision WHERE file = ?1 WINDOW newest AS (ORDER BY id DESC))
	WHERE place > ?2 OR place > ?3 AND at < ?4 OR place > 2 AND bytes > ?5)`

func putRevision(ctx context.Context, w *database.Writer, r Revision, sum, packed []byte) (id int64, err error) {
	err = w.Once(ctx, addRevision, r.File, r.User, int64(r.UID), r.At.UnixNano(), r.By, r.How, int64(len(r.Text)), blob(sum), blob(packed))
	if err != nil {
		return 0, err
	}
	v, err := w.Value(ctx, "SELECT last_insert_rowid()")
	if err != nil {
		return 0, err
	}
	return v.(int64), w.Once(ctx, oldRevisions, r.File, int64(revisionsKept), int64(revisionsFew),
		database.NanosBound(r.At.Add(-revisionsAge)), int64(revisionsBytes))
}

// blob returns NULL for nil, which the driver would store as an empty blob.
func blob(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return b
}

// Revision returns one revision, with its text; ok is false if it does not exist.
func (a *Archive) Revision(ctx context.Context, id int64) (r Revision, ok bool, err error) {
	var packed []byte
	err = a.db.Each(ctx, func(rows *sql.Rows) error {
		ok = true
		return r.scan(rows, &packed)
	}, "SELECT "+revisionColumns+", text FROM revision WHERE id = ?", id)
	if err == nil && ok && !r.Gone {
		r.Text, err = io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	}
	if err != nil {
		return r, false, fmt.Errorf("read revision: %w", err)
	}
	return r, ok, nil
}

// Revisions returns the selected revisions without their texts, newest first.
func (a *Archive) Revisions(ctx context.Context, f Filter) ([]Revision, error) {
	where, args := f.where()
	var found []Revision
	err := a.db.Each(ctx, func(rows *sql.Rows) error {
		var r Revision
		err := r.scan(rows)
		found = append(found, r)
		return err
	}, "SELECT "+revisionColumns+" FROM revision "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return found, nil
}

// NewestRevisions returns the newest revision of each file, without the texts.
func (a *Archive) NewestRevisions(ctx context.Context) (map[string]Revision, error) {
	found := map[string]Revision{}
	err := a.db.Each(ctx, func(rows *sql.Rows) error {
		var r Revision
		err := r.scan(rows)
		found[r.File] = r
		return err
	}, "SELECT "+revisionColumns+" FROM revision WHERE id IN (SELECT max(id) FROM revision GROUP BY file)")
	if err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return found, nil
}

const revisionColumns = "id, file, user, uid, at, by, how, size, sum IS NULL"

func (r *Revision) scan(rows *sql.Rows, more ...any) error {
	var at int64
	err := rows.Scan(append([]any{&r.ID, &r.File, &r.User, &r.UID, &at, &r.By, &r.How, &r.Size, &r.Gone}, more...)...)
	r.At = database.FromNanos(at)
	return err
}

func (f Filter) where() (rest string, args []any) {
	var w database.Where
	w.If(f.File != "", "file = ?", f.File)
	w.If(f.User != "", "user = ?", f.User)
	w.If(f.Before != 0, "id < ?", f.Before)
	return w.Newest("id", f.Limit)
}
