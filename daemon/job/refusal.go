package job

import "fmt"

// This file has the words of refusals: why the engine refuses a request or holds an entry, and why a member of
// the ring is no candidate for a job.

// Refusals of requests.
const (
	RefuseNoJob        string = "no such job"
	RefuseDraining     string = "the daemon is stopping and starts nothing"
	RefuseNothingLive  string = "nothing of it is running, queued or waiting"
	RefuseNotRunning   string = "it is not running"
	RefuseNotPaused    string = "it is not paused"
	RefuseLaterPause   string = "it is paused now, and the later pause would end that"
	RefuseSkipPaused   string = "it has a pause, and the skip would end that"
	RefuseNonePlanned  string = "none of its occurrences is planned"
	RefuseNotAcked     string = "no failure of it is acknowledged"
	RefuseNotInstalled string = "its job is no longer installed"
)

func RefuseUnderWay(id RunID) string {
	return fmt.Sprintf("run %d of the same occurrence is under way", id)
}

func RefuseNoBackfill(id int64) string { return fmt.Sprintf("backfill %d is not active", id) }

// Refusals of backfills.
const (
	RefusePeriodic       string = "it runs once in a period, at any time of that period, so it misses no occurrence that could be caught up"
	RefuseNoSchedule     string = "the clock never starts it, so there are no occurrences to go over"
	RefuseBefore1970     string = "the time begins before 1970"
	RefuseEndBeforeStart string = "the time ends before it begins"
	RefuseFuture         string = "the time ends in the future, for which the schedule starts the job"
)

func RefuseMaxActive(most int) string { return fmt.Sprintf("max-active is 1 to %d", most) }

// RefuseOverlap returns why a backfill rejects overlap=value. one and other are the accepted values.
func RefuseOverlap(value, one, other string) string {
	return fmt.Sprintf("overlap=%s: expected %s or %s, because all occurrences of a backfill are due at once and another rule would drop some of them", value, one, other)
}

func RefuseReprocess(value Reprocess) string {
	return fmt.Sprintf("reprocess=%s: expected %s, %s or %s", value, ReprocessNone, ReprocessFailed, ReprocessAll)
}

func RefuseUserBackfills(most int, user string) string {
	return fmt.Sprintf("too many active backfills of jobs of %s: the limit is %d", user, most)
}

func RefuseBackfills(most int) string {
	return fmt.Sprintf("too many active backfills: the limit is %d", most)
}

func RefuseOccurrences(most int) string {
	return fmt.Sprintf("there are more than %d occurrences in that time", most)
}

// Reasons why an entry is held.
const (
	HeldShardsOfPeriod string = "shards=: a line that runs once in a period leaves one stamp, so it cannot be several jobs"
	HeldRingReboot     string = "scope=ring: each host starts by itself, so @reboot cannot be one member's"
	HeldRingPeriod     string = "scope=ring: each host has days of its own on which its periods ran, so a line that runs once in a period cannot be one member's"
	HeldNoRing         string = "scope=ring: this host is in no ring"
	HeldNoVoters       string = "if-partitioned=hold needs voters: the ring's mode is available"
	HeldFaultySchedule string = "its schedule does not name a later time as the next one. That is a fault of cronring: report it with the time fields and options of the entry"
)

func HeldShards(most int) string {
	return fmt.Sprintf("shards= of its crontab makes more than %d jobs", most)
}

func HeldName(name, crontab string) string {
	return fmt.Sprintf("the name %s is taken by an entry of %s", name, crontab)
}

func HeldScope(key string, other ID) string {
	return fmt.Sprintf("%s= names %s, but only one of the two jobs has scope=ring", key, other)
}

func HeldPool(pool string, needed, size int) string {
	return fmt.Sprintf("pool=%s needs %d slots, but the pool has %d", pool, needed, size)
}

func HeldUndeclaredPool(pool string, needed, size int) string {
	return HeldPool(pool, needed, size) + ": the configuration declares no such pool"
}

func HeldForeignPool(pool string, needed, size int, user string) string {
	return HeldPool(pool, needed, size) + ": the pool that the configuration declares is not for crontabs of " + user
}

// Why a member of the ring is no candidate for a job. of is "", or another job that prevents it, because the two are
// connected.
const (
	AgainstDraining string = "it takes no new occurrences: it is drained, about to leave, or has not joined yet"
	AgainstWeight   string = "its weight is 0"
)

func AgainstOtherEntry(of ID) string            { return "its entry differs" + ofConnected(of) }
func AgainstNoEntry(of ID) string               { return "it does not have the entry" + ofConnected(of) }
func AgainstHost(host string, of ID) string     { return host + " is not in host=" + ofConnected(of) }
func AgainstLabels(misfit string, of ID) string { return misfit + ofConnected(of) }

func ofConnected(of ID) string {
	if of == "" {
		return ""
	}
	return " (this applies to " + string(of) + ", a job that is connected by after= or on=)"
}
