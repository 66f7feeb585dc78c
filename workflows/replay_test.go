package workflows

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

// TestRecordedHistoriesReplay runs the workflows of today against histories that
// landed versions have recorded, one folder a version: a change that cannot
// replay them would strand campaigns under way. They are recorded by the
// end-to-end tests, from landed code only; CONTRIBUTING.md says how.
func TestRecordedHistoriesReplay(t *testing.T) {
	files := recordedHistories(t)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			Register(r)
			require.NoError(t, r.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), file))
		})
	}
}

func recordedHistories(t *testing.T) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join("testdata", "histories"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".json" {
			files = append(files, path)
		}
		return err
	}))
	return files
}
