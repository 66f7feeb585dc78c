package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// roleVariable turns the test binary into a second process; storeVariable holds its Config.
const (
	roleVariable  = "RATCHET_STORE_TEST_ROLE"
	storeVariable = "RATCHET_STORE_TEST_CONFIG"
)

func runRole(role string) error {
	ctx := context.Background()
	var cfg Config
	if err := json.Unmarshal([]byte(os.Getenv(storeVariable)), &cfg); err != nil {
		return err
	}
	s, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	err = fmt.Errorf("no such role: %s", role)
	switch role {
	case "failures":
		err = writeFailures(ctx, s, "second", 50)
	case "endless":
		err = writeEndless(ctx, s)
	}
	return errors.Join(err, s.Close())
}

// writeFailures stores n events of one source.
func writeFailures(ctx context.Context, s *Store, source string, n int) error {
	for i := range n {
		if _, _, err := s.AddFailure(ctx, model.Failure{Source: source, ID: fmt.Sprint(i)}); err != nil {
			return err
		}
	}
	return nil
}

// writeEndless stores runs of 40 results until it is killed, and prints a line
// for each that is stored.
func writeEndless(ctx context.Context, s *Store) error {
	for round := 0; ; round++ {
		if _, err := s.SaveRun(ctx, Fence{}, RunKey{"c", "baseline", "", round}, "tree", someRun(40)); err != nil {
			return err
		}
		fmt.Println("stored")
	}
}

func someRun(results int) model.Run {
	run := model.Run{Results: []model.Result{}}
	for i := range results {
		run.Results = append(run.Results, model.Result{Problem: fmt.Sprintf("unit/p%03d", i), Score: 1, Outcome: model.Pass})
	}
	return run
}

func secondProcess(t *testing.T, role string, cfg Config) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(map[string]any{"Driver": cfg.Driver, "Path": cfg.Path, "DSN": cfg.DSN})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, storeVariable+"="+string(data))
	cmd.Stderr = os.Stderr
	return cmd
}

func TestWritersOfTwoProcessesWaitForEachOther(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		ctx := context.Background()
		s := open(t, cfg)
		other := secondProcess(t, "failures", cfg)
		require.NoError(t, other.Start())
		done := make(chan error)
		for i := range 4 {
			go func() { done <- writeFailures(ctx, s, fmt.Sprint("first", i), 50) }()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		require.NoError(t, other.Wait())
		all, err := s.Failures(ctx, FailureFilter{})
		require.NoError(t, err)
		require.Len(t, all, 250)
		for i, f := range all {
			require.EqualValues(t, i+1, f.Seq, "sequence numbers have no gaps")
		}
	})
}

func TestKilledWriterLosesNothingStored(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		ctx := context.Background()
		setup := open(t, cfg)
		campaign(t, setup, "c")
		for range 3 {
			before, err := setup.Runs(ctx, "c", "baseline")
			require.NoError(t, err)
			_, err = setup.writer.ExecContext(ctx, "DELETE FROM run_results")
			require.NoError(t, err)
			_, err = setup.writer.ExecContext(ctx, "DELETE FROM runs")
			require.NoError(t, err)
			stored := killAfter(t, secondProcess(t, "endless", cfg), 5+len(before)%7)
			runs, err := open(t, cfg).Runs(ctx, "c", "baseline")
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(runs), stored)
			for _, r := range runs {
				require.Equal(t, someRun(40), r.Run, "a run is there with all its results or not at all")
			}
		}
		if cfg.Driver == "" {
			requireSound(t, setup)
		}
	})
}

// killAfter kills the process once it has reported n lines, and returns how many it reported in all.
func killAfter(t *testing.T, cmd *exec.Cmd, n int) int {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := 0
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if lines++; lines == n {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "it was killed")
	require.GreaterOrEqual(t, lines, n)
	return lines
}

func requireSound(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	require.NoError(t, s.readers.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
}

func TestReadingBesideAWritingProcess(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		ctx := context.Background()
		campaign(t, open(t, cfg), "c")
		writing := secondProcess(t, "endless", cfg)
		out, err := writing.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, writing.Start())
		scan := bufio.NewScanner(out)
		require.True(t, scan.Scan())

		cfg.ReadOnly = true
		reader := open(t, cfg)
		runs, err := reader.Runs(ctx, "c", "baseline")
		require.NoError(t, err)
		require.NotEmpty(t, runs)
		for scan.Scan() { // later writes are seen too
			more, err := reader.Runs(ctx, "c", "baseline")
			require.NoError(t, err)
			if len(more) > len(runs) {
				break
			}
		}
		_, err = reader.SaveRun(ctx, Fence{}, RunKey{Campaign: "c"}, "t", model.Run{})
		require.ErrorIs(t, err, ErrReadOnly)
		require.NoError(t, writing.Process.Kill())
		require.Error(t, writing.Wait())
	})
}

func TestOpenReadOnlyNeedsAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	_, err := Open(context.Background(), Config{Path: path, ReadOnly: true})
	require.ErrorIs(t, err, ErrNotFound)
	require.NoFileExists(t, path)
}
