package crontab

import "time"

// Edge is one job whose runs another waits for, or starts on.
type Edge struct {
	Job      string
	Outcomes Outcomes // any of these
}

// Outcomes is a set of ways in which a run, with all its attempts, can end.
type Outcomes uint8

// The outcomes that edges name.
const (
	OutcomeOK   Outcomes = 1 << iota // succeeded
	OutcomeFail                      // failed for good, dead, lost or kept from running by a parent
	OutcomeSkip                      // skipped itself by skip-code=, or was refused by if=
	OutcomeLost                      // its process vanished
	OutcomeDead                      // failed for good and lies among the dead letters
	OutcomeDone = OutcomeOK | OutcomeFail | OutcomeSkip | OutcomeLost | OutcomeDead
)

// Join says how the edges of after= add up. Those from JoinAllSuccess on are
// Airflow's trigger rules: they look at how parents ended, whatever outcomes
// their edges name.
type Join uint8

// The joins.
const (
	JoinAll        Join = iota // every edge holds
	JoinAny                    // one edge holds
	JoinNoneFailed             // all have ended, and none failed
	JoinAllSuccess
	JoinAllFailed
	JoinAllDone
	JoinAllDoneMinOneSuccess
	JoinAllSkipped
	JoinOneFailed
	JoinOneSuccess
	JoinOneDone
	JoinNoneFailedMinOneSuccess
	JoinNoneSkipped
	JoinAlways // waits for nobody
)

// Failures is a set of ways to fail.
type Failures struct {
	Any     bool
	Codes   []uint8 // exit statuses
	Timeout bool
	Lost    bool
}

// Breaker holds a job for Hold after Failures occurrences in a row have failed.
// The zero value never does.
type Breaker struct {
	Failures int
	Hold     time.Duration
}

// Exhausted says what becomes of a run whose last attempt has failed.
type Exhausted uint8

// What on-exhausted= can say.
const (
	ExhaustedDefault  Exhausted = iota // dead with retry=, else continue
	ExhaustedDead                      // it goes to the dead letters
	ExhaustedContinue                  // nothing
	ExhaustedPause                     // the job is paused
)

// IfLost says what becomes of a run whose process vanished with its daemon.
type IfLost uint8

// What if-lost= can say.
const (
	LostFails  IfLost = iota // it counts as failed
	LostReruns               // it is started again
	LostStays                // it counts as nothing
)

// Resources are limits and priorities of a run's processes. Zero values and
// nils leave the host's own.
type Resources struct {
	Memory     int64 // most bytes
	MemoryHigh int64 // bytes from which the run is slowed
	CPU        int   // thousandths of one processor
	Tasks      int   // most processes and threads
	NoFile     int   // most open files, of each process
	Slice      string
	Nice       *int
	Idle       bool
	IOWeight   int // 1 to 10000; the host's own is 100
	CPUWeight  int // likewise
}

// Log says where output goes besides the history.
type Log struct {
	Off  bool   // nowhere
	File string // appended to this file, as the run's account; "": the journal
}

// MailWhen says when a run's output is mailed.
type MailWhen uint8

// When mail is sent.
const (
	MailOutput  MailWhen = iota // when there is output, as cron does
	MailAlways                  // after each run
	MailFailure                 // after failures
	MailNever
)

// Notices is a set of happenings that channels are told of.
type Notices uint16

// The happenings.
const (
	NoticeFail    Notices = 1 << iota // failed for good
	NoticeDead                        // went to the dead letters
	NoticeLost                        // its process vanished
	NoticeMissed                      // an occurrence was missed and will not run
	NoticeLate                        // started or ended later than max-late=, max-run= or expect= allows
	NoticeRecover                     // the first success after failures
	NoticeSuccess
	NoticeStart
	NoticeHeld // the entry is held: a guard cannot be followed
	NoticeEach // not a happening: each failure of a streak, not only the first
)

// Keep says how much history is kept of a job: a run goes when it is beyond
// either bound. 0 is no bound.
type Keep struct {
	Runs int
	Age  time.Duration
}
