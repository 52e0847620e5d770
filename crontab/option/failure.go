package option

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Failures is a set of failures that retry-on= and no-retry-on= select.
type Failures struct {
	Any     bool    // all but lost runs
	Codes   []uint8 // exit statuses, in order
	Timeout bool
	Lost    bool
}

// parseFailures reads exit statuses, timeout, lost and any. The word none alone
// is the empty set.
func parseFailures(text string) (*Failures, error) {
	f := &Failures{}
	if text == "none" {
		return f, nil
	}
	var codes []string
	for item := range strings.SplitSeq(text, ",") {
		switch item {
		case "any":
			f.Any = true
		case "timeout":
			f.Timeout = true
		case "lost":
			f.Lost = true
		default:
			codes = append(codes, item)
		}
	}
	if len(codes) == 0 {
		return f, nil
	}
	var err error
	f.Codes, err = parseCodes(strings.Join(codes, ","))
	return f, err
}

// parseCodes reads exit statuses separated by commas, and returns them sorted
// and without duplicates.
func parseCodes(text string) ([]uint8, error) {
	var codes []uint8
	for item := range strings.SplitSeq(text, ",") {
		code, err := parseInt(item, 0, 255)
		if err != nil {
			return nil, err
		}
		codes = append(codes, uint8(code))
	}
	slices.Sort(codes)
	return slices.Compact(codes), nil
}

// Breaker holds a job for Hold after Failures occurrences in a row have failed.
// The zero value never does.
type Breaker struct {
	Failures int
	Hold     time.Duration
}

// parseBreaker reads N/duration.
func parseBreaker(text string) (b Breaker, err error) {
	number, length, ok := strings.Cut(text, "/")
	if !ok {
		return b, fmt.Errorf("%s is not N/duration", diagnostic.Quote(text))
	}
	if b.Failures, err = parseInt(number, 1, 1000); err != nil {
		return b, err
	}
	return b, positive(&b.Hold, length)
}

// Exhausted is the action after the last attempt of a run has failed.
type Exhausted uint8

// The values of on-exhausted=.
const (
	ExhaustedDefault  Exhausted = iota // dead with retry=, else continue; Parse replaces it in all entries
	ExhaustedDead                      // it becomes a dead letter
	ExhaustedContinue                  // nothing
	ExhaustedPause                     // the job is paused
)

var exhausteds = map[string]Exhausted{"dead": ExhaustedDead, "continue": ExhaustedContinue, "pause": ExhaustedPause}

// IfLost is the action for a run whose process vanished with its daemon.
type IfLost uint8

// The values of if-lost=.
const (
	LostFails  IfLost = iota // it counts as failed
	LostReruns               // it is started again
	LostStays                // it is neither failure nor success
)

var ifLosts = map[string]IfLost{"fail": LostFails, "rerun": LostReruns, "leave": LostStays}

// stopSignals are the signals that end a program by default or by convention.
var stopSignals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
	"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM, "ABRT": syscall.SIGABRT, "WINCH": syscall.SIGWINCH,
}

// ParseSignal reads the name of a signal that may stop a run, with or without the
// prefix SIG.
func ParseSignal(text string) (syscall.Signal, error) {
	return oneOf(strings.TrimPrefix(text, "SIG"), stopSignals)
}

// SignalNames returns the names that ParseSignal accepts, sorted.
func SignalNames() []string { return slices.Sorted(maps.Keys(stopSignals)) }

// SignalName returns the name that ParseSignal accepts for sig.
func SignalName(sig syscall.Signal) string {
	for name, s := range stopSignals {
		if s == sig {
			return name
		}
	}
	return sig.String()
}

// Backoff is the wait between attempts: Min at first, multiplied by Factor each
// time, at most Max.
type Backoff struct {
	Min, Max time.Duration
	Factor   float64
}

// parseBackoff reads D, D1..D2 or D1..D2xF. D alone is the same wait each time.
func parseBackoff(text string) (b Backoff, err error) {
	low, high, ranged := strings.Cut(text, "..")
	if b.Min, err = ParseDuration(low); err != nil {
		return b, err
	}
	if !ranged {
		b.Max, b.Factor = b.Min, 1
		return b, nil
	}
	b.Factor = 2
	high, factor, scaled := strings.Cut(high, "x")
	if scaled {
		b.Factor, err = strconv.ParseFloat(factor, 64)
		if err != nil || !(b.Factor >= 1 && b.Factor <= 100) {
			return b, fmt.Errorf("%s is not a factor between 1 and 100", diagnostic.Quote(factor))
		}
	}
	b.Max, err = ParseDuration(high)
	if err == nil && b.Max < b.Min {
		err = errors.New("the longest wait is shorter than the first")
	}
	return b, err
}
