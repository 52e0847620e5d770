package change

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/screen"
)

// Backfill begins a backfill.
func Backfill(r api.BackfillRequest) func(context.Context, screen.Daemon) (string, error) {
	return func(ctx context.Context, d screen.Daemon) (string, error) {
		b, err := d.Backfill(ctx, r)
		return fmt.Sprintf("backfill %d of %s began", b.ID, r.Ref), err
	}
}
