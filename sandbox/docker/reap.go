package docker

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Reap removes orphans and returns how many: boxes of this stack whose epoch
// is older than this engine's, and boxes of other stacks whose deadline has
// passed. Call it as the holder of the stack's lock, before anything is measured.
func (e *Engine) Reap(ctx context.Context) (int, error) {
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelStack))})
	if err != nil {
		return 0, e.wrap("list", "boxes", err)
	}
	n := 0
	var errs []error
	for _, c := range list {
		if !e.orphan(c.Labels, time.Now()) {
			continue
		}
		if err := e.remove(ctx, c.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		e.log.Info("removed an orphaned box", "box", c.ID, "stack", c.Labels[labelStack], "purpose", c.Labels[labelPurpose])
		n++
	}
	return n, errors.Join(errs...)
}

func (e *Engine) orphan(labels map[string]string, now time.Time) bool {
	switch labels[labelStack] {
	case "": // not a box: it was started from one of our images by somebody else
		return false
	case e.cfg.Stack:
		epoch, err := strconv.ParseInt(labels[labelEpoch], 10, 64)
		return err == nil && epoch < e.cfg.Epoch
	}
	deadline, err := time.Parse(time.RFC3339, labels[labelDeadline])
	return err == nil && now.After(deadline)
}
