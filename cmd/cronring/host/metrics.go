package host

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/metrics"
)

// NewMetrics returns the command metrics.
func NewMetrics(a *cli.App) *cobra.Command {
	var q api.MetricsQuery
	var file string
	cmd := &cobra.Command{
		Use:   "metrics [--jobs] [JOB...] [--write FILE]",
		Short: "Print Prometheus metrics",
		Long: `Print metrics in the text format of Prometheus: the state of the daemon, results
and delays of runs, and the state of the ring. Root gets metrics of the whole host,
other users those of their own jobs.

The daemon opens no port for this. Use node_exporter's textfile collector with the
file of --write, or request GET /v1/metrics on the socket. FILE is replaced
atomically, with mode 0644. If the daemon cannot be reached, it contains
cronring_up 0, and the command fails.

--jobs, or a name, adds a dozen series for each job, of 10000 at most. Counters
start at 0 when the daemon starts.`,
		Example: "  cronring report metrics\n  cronring report metrics 'etl-*'\n  cronring report metrics --jobs --write /var/lib/node_exporter/cronring.prom",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Refs = args
			q.Jobs = q.Jobs || len(args) > 0
			text, err := a.Daemon().Metrics(cmd.Context(), q)
			if file == "" {
				if err == nil {
					a.Printf("%s", text)
				}
				return err
			}
			switch {
			case api.KindOf(err) == api.Unreachable:
				return errors.Join(err, replaceFile(file, metricsOfNobody()))
			case err != nil:
				return err
			}
			return replaceFile(file, text)
		},
	}
	cmd.Flags().BoolVar(&q.Jobs, "jobs", false, "also of each job")
	cmd.Flags().StringVar(&file, "write", "", "write `FILE` instead")
	return cmd
}

// metricsOfNobody returns the metrics for an unreachable daemon. Old values would claim
// that it still runs.
func metricsOfNobody() []byte {
	host, _ := os.Hostname()
	m := metrics.New("host", host)
	m.Family("cronring_up", metrics.Gauge, "Whether cronringd answered.")
	m.Add(0)
	return m.Bytes()
}

// replaceFile replaces a file atomically. The temporary name has no suffix .prom, so that
// collectors ignore it. It rejects anything but a regular file, such as /dev/stdout, because root
// would replace it for everybody.
func replaceFile(path string, text []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write %s: it is not a regular file, and would be replaced by one", path)
	}
	if err := atomicfile.Replace(path, 0o644, text); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
