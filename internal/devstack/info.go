package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Info tells other processes of a machine how to reach the stack of a data folder.
type Info struct {
	Pid             int    `json:"pid"`
	TemporalAddress string `json:"temporal_address"`
	UIURL           string `json:"ui_url,omitempty"`
	NATSURL         string `json:"nats_url"`
	Namespace       string `json:"namespace"`
	Stack           string `json:"stack"`
	Epoch           int64  `json:"epoch"`
	// Transient says that the stack ends with the command that started it.
	Transient bool `json:"transient,omitempty"`
}

// ErrNoInfo: no stack has ever written its info into the data folder.
var ErrNoInfo = errors.New("no stack has run in this data folder")

// Info describes the running stack to others; lock is the one held on its folder.
func (s *Stack) Info(lock *Lock) Info {
	return Info{
		Pid: os.Getpid(), TemporalAddress: s.TemporalAddress(), UIURL: s.UIURL(), NATSURL: s.NATSURL(),
		Namespace: s.Namespace(), Stack: lock.Stack(), Epoch: lock.Epoch(),
	}
}

func infoPath(dir string) string { return filepath.Join(dir, "stack.json") }

// WriteInfo publishes info in dir, as a whole or not at all. Only the holder of
// the folder's Lock may call it, once the stack serves.
func WriteInfo(dir string, info Info) error {
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("devstack: encode the info: %w", err)
	}
	if err := writeFile(infoPath(dir), append(data, '\n')); err != nil {
		return fmt.Errorf("devstack: write the info: %w", err)
	}
	return nil
}

// ReadInfo reads what the last stack in dir published, and says whether that
// stack is running still: the folder is locked, and by the same owner epoch. An
// info that is left over from a stack that ended or was killed, or of the owner
// before while a new one starts up, comes back with running false. The error is
// ErrNoInfo when there is none.
func ReadInfo(dir string) (info Info, running bool, err error) {
	data, err := os.ReadFile(infoPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return Info{}, false, fmt.Errorf("devstack: %s: %w", dir, ErrNoInfo)
	}
	if err != nil {
		return Info{}, false, fmt.Errorf("devstack: read the info: %w", err)
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return Info{}, false, fmt.Errorf("devstack: read the info in %s: %w", infoPath(dir), err)
	}
	held, err := locked(dir)
	if err != nil {
		return Info{}, false, fmt.Errorf("devstack: probe the lock on %s: %w", dir, err)
	}
	epoch, err := currentEpoch(dir)
	if err != nil {
		return Info{}, false, fmt.Errorf("devstack: %w", err)
	}
	return info, held && epoch == info.Epoch, nil
}
