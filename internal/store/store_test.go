package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ratchet/internal/model"
)

// at is a fixed time with all the precision that is kept.
var at = time.Date(2026, 3, 1, 12, 30, 45, 123456000, time.UTC)

// each runs a test on an empty store of each database.
func each(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	eachConfig(t, func(t *testing.T, cfg Config) { test(t, open(t, cfg)) })
}

func eachConfig(t *testing.T, test func(t *testing.T, cfg Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, Config{Path: t.TempDir() + "/ratchet.db"}) })
	t.Run("postgres", func(t *testing.T) { test(t, Config{Driver: Postgres, DSN: postgresSchema(t)}) })
}

func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func campaign(t testing.TB, s *Store, name string) string {
	t.Helper()
	require.NoError(t, s.CreateCampaign(context.Background(), model.Campaign{Name: name, Spec: []byte(`{"name":"x"}`), Created: at, Updated: at}))
	return name
}
