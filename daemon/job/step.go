package job

// Step is a link of the chain of steps that an occurrence passes until it runs. The list is closed.
type Step string

// The steps, in the order that an occurrence passes them.
const (
	StepEntry    Step = "entry"
	StepEnabled  Step = "enabled"
	StepSchedule Step = "schedule"
	StepClock    Step = "clock"
	StepDaemon   Step = "daemon"
	StepHost     Step = "host"
	StepOverlap  Step = "overlap"
	StepCheck    Step = "check"   // if=, and conditions of the host
	StepParents  Step = "parents" // after=
	StepSlot     Step = "slot"    // pool=, max-running
	StepGate     Step = "gate"
)
