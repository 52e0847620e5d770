package option

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Resources are limits and priorities of a run's processes. Zero values and
// nils keep the host's settings.
type Resources struct {
	Memory     int64  // most bytes
	MemoryHigh int64  // bytes from which the run is slowed
	CPU        int    // thousandths of one processor
	Tasks      int    // most processes and threads
	NoFile     int    // most open files, of each process
	Slice      string // a unit's name, with .slice
	Nice       *int
	Idle       bool
	IOWeight   int // 1 to 10000; the host's own is 100
	CPUWeight  int // likewise
}

// The bounds of limits.
const (
	leastMemory = 1 << 20   // no program starts with less
	mostWeight  = 10_000    // systemd's and the kernel's
	UsualWeight = 100       // likewise
	mostTasks   = 4_194_304 // the kernel's most process IDs
	mostFiles   = 1_073_741_816
	leastCPU    = 10        // thousandths: the kernel's minimum is 1 % of a processor
	mostCPU     = 1_000_000 // thousandths
)

// resources returns the resources of the plan for modification.
func (p *Plan) resources() *Resources {
	if p.Resources == nil {
		p.Resources = &Resources{}
	}
	return p.Resources
}

// parseNice reads the priorities of nice(2).
func parseNice(text string) (*int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < -20 || n > 19 {
		return nil, fmt.Errorf("%s is not between -20 and 19", diagnostic.Quote(text))
	}
	return &n, nil
}

// parseSize reads bytes with an optional unit K, M, G or T.
func parseSize(text string, low, high int64) (int64, error) {
	n, unit := digits(text)
	shift := 0
	if unit != "" {
		shift = 10 * (1 + strings.Index("KMGT", unit))
	}
	if n < 1 || len(unit) > 1 || unit != "" && shift == 0 {
		return 0, fmt.Errorf("%s is not a size", diagnostic.Quote(text))
	}
	size := n << shift
	if size>>shift != n || size < low || size > high {
		return 0, fmt.Errorf("%s is not between %s and %s", diagnostic.Quote(text), sizeText(low), sizeText(high))
	}
	return size, nil
}

// sizeText formats bytes in the syntax of options: 512M.
func sizeText(size int64) string {
	unit := ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if size%1024 != 0 || size == 0 {
			break
		}
		size, unit = size/1024, next
	}
	return strconv.FormatInt(size, 10) + unit
}

// parseMemory reads a limit of memory.
func parseMemory(text string) (int64, error) { return parseSize(text, leastMemory, 1<<50) }

// parseCPU reads percent of one processor, or a number of processors. Both may
// have a decimal point.
func parseCPU(text string) (int, error) {
	number, percent := strings.CutSuffix(text, "%")
	thousandths := 1000.0
	if percent {
		thousandths = 10
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%s is neither percent nor processors", diagnostic.Quote(text))
	}
	if n *= thousandths; !(n >= leastCPU && n <= mostCPU) {
		return 0, fmt.Errorf("%s is not between 1%% and %d processors", diagnostic.Quote(text), mostCPU/1000)
	}
	return int(n + 0.5), nil
}

// parseSlice reads the name of a systemd slice, with or without its suffix. A
// hyphen in the name separates a slice from its parent.
func parseSlice(text string) (string, error) {
	stem := strings.TrimSuffix(text, ".slice")
	if err := CheckName(stem); err != nil {
		return "", err
	}
	if strings.HasPrefix(stem, "-") || strings.HasSuffix(stem, "-") || strings.Contains(stem, "--") {
		return "", fmt.Errorf("%s has a hyphen without a name on both sides", diagnostic.Quote(text))
	}
	return stem + ".slice", nil
}
