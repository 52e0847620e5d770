package screen

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
)

// begin begins a backfill.
func begin(r api.BackfillRequest) func(context.Context, Daemon) (string, error) {
	return func(ctx context.Context, d Daemon) (string, error) {
		b, err := d.Backfill(ctx, r)
		return fmt.Sprintf("backfill %d of %s began", b.ID, r.Ref), err
	}
}
