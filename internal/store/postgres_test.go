package store

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/store/pgtest"
)

// postgresSchema returns the DSN of a new, empty schema, and skips the test
// where PostgreSQL is not installed.
func postgresSchema(t testing.TB) string {
	t.Helper()
	p, err := shared.get()
	if errors.Is(err, pgtest.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}
	require.NoError(t, err)
	dsn, err := p.Schema(context.Background())
	require.NoError(t, err)
	return dsn
}
