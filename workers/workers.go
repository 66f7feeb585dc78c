// Package workers assembles processes: Temporal workers on their queues, and on
// one machine the whole stack with its servers, sandbox engine and store.
package workers

import (
	"errors"
	"log/slog"
	"runtime"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"ratchet/activities"
	"ratchet/internal/protocol"
	"ratchet/workflows"
)

// Config says what a process's workers do.
type Config struct {
	Temporal   client.Client
	Activities *activities.Activities
	// SandboxSlots is how many sandbox activities run at once; the number of
	// processors, and at least 2, when zero.
	SandboxSlots int
	// ModelSlots is how many activities that call models run at once; 16 when zero.
	// Each asks for several answers side by side: how many of those are in flight
	// the endpoints bound.
	ModelSlots int
	Logger     *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Temporal == nil || c.Activities == nil {
		return c, errors.New("workers: a Temporal client and activities are required")
	}
	if c.SandboxSlots == 0 {
		c.SandboxSlots = max(2, runtime.NumCPU())
	}
	if c.ModelSlots == 0 {
		c.ModelSlots = 16
	}
	return c, nil
}

// Workers are the workers of one process. Start and Stop are safe in any order
// and more than once.
type Workers struct {
	mu      sync.Mutex
	all     []worker.Worker
	started int
}

// New makes the workers of all queues: one for workflows and short activities, one
// for sandboxes, one for models, none of which waits for the others.
func New(cfg Config) (*Workers, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	main := worker.New(cfg.Temporal, protocol.QueueMain, worker.Options{})
	workflows.Register(main)
	cfg.Activities.RegisterMain(main)
	boxes := worker.New(cfg.Temporal, protocol.QueueSandbox, worker.Options{
		MaxConcurrentActivityExecutionSize: cfg.SandboxSlots,
		DisableWorkflowWorker:              true,
	})
	cfg.Activities.RegisterSandbox(boxes)
	models := worker.New(cfg.Temporal, protocol.QueueLLM, worker.Options{
		MaxConcurrentActivityExecutionSize: cfg.ModelSlots,
		DisableWorkflowWorker:              true,
	})
	cfg.Activities.RegisterLLM(models)
	return &Workers{all: []worker.Worker{main, boxes, models}}, nil
}

// Start begins polling. When it fails, what had started is stopped.
func (w *Workers) Start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.started < len(w.all) {
		if err := w.all[w.started].Start(); err != nil {
			w.stop()
			return err
		}
		w.started++
	}
	return nil
}

// Stop waits for workflow tasks under way, cancels activities, and returns.
// Activities that are cut off so run again when a worker starts.
func (w *Workers) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
}

func (w *Workers) stop() {
	for ; w.started > 0; w.started-- {
		w.all[w.started-1].Stop()
	}
	w.all = nil
}
