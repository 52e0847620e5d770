package api

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Ring is the ring that a host is a member of, as that host sees it.
type Ring struct {
	V         int       `json:"v"`
	Name      string    `json:"name,omitempty"` // "": the host is in no ring
	Mode      string    `json:"mode,omitempty"` // RingAvailable or RingStrict
	Self      string    `json:"self,omitempty"` // this member's ID
	Joined    bool      `json:"joined"`         // false: ring jobs wait because no member has answered yet
	Jobs      int       `json:"jobs"`           // ring jobs of this host's crontabs
	Members   []Member  `json:"members"`        // including those that are down or have left, by name
	Voters    []Voter   `json:"voters,omitempty"`
	Quorum    int       `json:"quorum,omitempty"`       // voters that must agree
	SafeLoss  int       `json:"safe_to_lose"`           // how many more members can go down while all jobs still run
	Problems  []Problem `json:"problems,omitempty"`     // that this member sees now
	Handovers []Move    `json:"handovers,omitempty"`    // the newest first, since the daemon started
	Doubled   int       `json:"doubled_24h,omitempty"`  // occurrences that two members ran, found in the last 24 hours
	Unowned   int       `json:"unowned,omitempty"`      // ring jobs of this host's crontabs that no member can run
	Held      string    `json:"held_back_by,omitempty"` // why this member takes no ring jobs now
	Claims    Claims    `json:"claims,omitzero"`        // since the daemon started
	Drained   *Drained  `json:"drained,omitempty"`      // how far this member is that takes no ring jobs; nil: it takes some
}

// Up returns the number of members that are up.
func (r *Ring) Up() (up int) {
	for i := range r.Members {
		if r.Members[i].State.Up() {
			up++
		}
	}
	return up
}

// RunsNothing reports whether no member can run any of the ring jobs.
func (r *Ring) RunsNothing() bool { return r.Jobs > 0 && r.Unowned >= r.Jobs }

// Claims counts the results of a member's claims.
type Claims struct {
	Granted uint64 `json:"granted"`
	Refused uint64 `json:"refused"` // another member has the occurrence
	Unknown uint64 `json:"unknown"` // no member could decide; claimed again later
}

// Drained counts the runs of the ring that a drained member still has. If there are none, it can
// be stopped, and no run waits for it.
type Drained struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"` // runs that have not begun
}

// The modes of a ring.
const (
	RingAvailable = "available"
	RingStrict    = "strict"
)

// Member is one host of a Ring.
type Member struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Addr    string            `json:"addr"`
	State   MemberState       `json:"state"`
	Since   time.Time         `json:"since"` // of that state
	Labels  map[string]string `json:"labels,omitempty"`
	Weight  float64           `json:"weight"`
	Version string            `json:"version,omitempty"`
	RTT     time.Duration     `json:"rtt_ns,omitempty"`
	Clock   time.Duration     `json:"clock_offset_ns,omitempty"` // its clock less this host's
	Owns    int               `json:"owns"`                      // ring jobs of the asked host's crontabs
	Runs    int               `json:"runs"`                      // that run there, according to its last message
	Lacks   int               `json:"lacks,omitempty"`           // ring jobs of the asked host that it lacks or has with a different entry
}

// LabelsText returns the labels in a line, in the order of their keys.
func (m *Member) LabelsText() string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m.Labels)) {
		all = append(all, k+":"+m.Labels[k])
	}
	return strings.Join(all, ",")
}

// MemberState is the state of a member.
type MemberState string

// The states of members.
const (
	MemberUp       MemberState = "up"
	MemberJoining  MemberState = "joining"  // up, and owns nothing yet
	MemberDraining MemberState = "draining" // up, but owns nothing
	MemberDown     MemberState = "down"
	MemberLeft     MemberState = "left"
)

// Voter is a member that grants occurrences in strict mode.
type Voter struct {
	ID     string `json:"id"`
	Leader bool   `json:"leader,omitempty"`
	Up     bool   `json:"up"`
}

// Move is jobs that went from one member to others.
type Move struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	Jobs int       `json:"jobs"`
}

// The actions of a RingRequest.
const (
	RingJoin    = "join"
	RingLeave   = "leave"
	RingDrain   = "drain"
	RingUndrain = "undrain"
	RingRotate  = "rotate-key"
	RingRecover = "recover"
)

// RingRequest requests an action in the ring.
type RingRequest struct {
	Do    string   `json:"do"`
	Seeds []string `json:"seeds,omitempty"` // join: where to look; none: those of the configuration
}

// RingDone is the result of a RingRequest.
type RingDone struct {
	V    int      `json:"v"`
	Did  string   `json:"did"`            // a sentence
	More []string `json:"more,omitempty"` // sentences with further information or steps
}

// RingDiff is the difference between the ring jobs of another member and this host's.
type RingDiff struct {
	V       int        `json:"v"`
	Member  string     `json:"member"`
	Same    int        `json:"same"`
	Differ  []RingPair `json:"differ,omitempty"`  // both have the job, with different entries
	Missing []RingJob  `json:"missing,omitempty"` // the member lacks them
	Extra   []RingJob  `json:"extra,omitempty"`   // this host lacks them
}

// RingPair is a job whose entries differ between two members.
type RingPair struct {
	Here  RingJob `json:"here"`
	There RingJob `json:"there"`
}

// RingJob is a ring job as its member's crontab has it.
type RingJob struct {
	Job      job.ID            `json:"job"`
	Crontab  string            `json:"crontab"`
	Line     int               `json:"line"`
	User     string            `json:"user"`
	Schedule string            `json:"schedule"`
	Command  string            `json:"command"`
	Options  map[string]string `json:"options,omitempty"`
	Hash     job.Key           `json:"hash"`
}

// RingJobs is all ring jobs of a member.
type RingJobs struct {
	V    int       `json:"v"`
	Jobs []RingJob `json:"jobs"`
}

// Ring returns the state of the ring.
func (c *Client) Ring(ctx context.Context) (Ring, error) {
	return get[Ring](ctx, c, "see the ring", "/v1/ring", nil)
}

// RingDiff compares the ring jobs of this host with those of a member, which is
// named by its host's name or its ID.
func (c *Client) RingDiff(ctx context.Context, member string) (RingDiff, error) {
	return get[RingDiff](ctx, c, "compare ring jobs", "/v1/ring/diff", url.Values{"member": {member}})
}

// ChangeRing does something with the ring.
func (c *Client) ChangeRing(ctx context.Context, r RingRequest) (RingDone, error) {
	return post[RingDone](ctx, c, r.Do+" the ring", "/v1/ring", r)
}

// Up reports whether a member answers.
func (s MemberState) Up() bool {
	return s == MemberUp || s == MemberJoining || s == MemberDraining
}

// IDs lists the jobs that are not the same.
func (d *RingDiff) IDs() []job.ID {
	var ids []job.ID
	for i := range d.Differ {
		ids = append(ids, d.Differ[i].Here.Job)
	}
	for _, jobs := range [][]RingJob{d.Missing, d.Extra} {
		for i := range jobs {
			ids = append(ids, jobs[i].Job)
		}
	}
	return ids
}
