package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// postgres is the server that the tests of this package share: started by the
// first that asks, stopped by TestMain.
type postgres struct {
	dir     string
	cmd     *exec.Cmd
	schemas atomic.Int64
}

var errNoPostgres = errors.New("PostgreSQL is not installed")

// postgresSchema returns the DSN of a new, empty schema, and skips the test
// where PostgreSQL is not installed.
func postgresSchema(t testing.TB) string {
	t.Helper()
	p, err := shared.get()
	if errors.Is(err, errNoPostgres) && os.Getenv("CI") == "" {
		t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}
	require.NoError(t, err)
	schema := fmt.Sprintf("test%d", p.schemas.Add(1)) // much cheaper than a database
	conn, err := pgx.Connect(context.Background(), p.dsn("public"))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	return p.dsn(schema)
}

// dsn addresses a schema of the server, which listens on a socket in its own folder only.
func (p *postgres) dsn(schema string) string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres search_path=%s", p.dir, schema)
}

func startPostgres() (*postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	p := &postgres{dir: dir}
	if err := p.start(bin); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// postgresBin finds the server's programs: on Debian they are not in PATH.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", errNoPostgres
	}
	sort.Strings(found)
	return filepath.Dir(found[len(found)-1]), nil
}

func (p *postgres) start(bin string) error {
	who, err := unprivileged(p.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	initdb := exec.Command(bin+"/initdb", "--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = p.dir, who
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(bin+"/postgres", "-D", data, "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	p.cmd.Dir, p.cmd.SysProcAttr = p.dir, who
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	return p.ready()
}

// ready waits until the server takes connections.
func (p *postgres) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, p.dsn("public"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
			return fmt.Errorf("postgres did not start: %w\n%s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *postgres) stop() error {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(syscall.SIGINT) // fast shutdown: sessions are ended
		_ = p.cmd.Wait()
	}
	return os.RemoveAll(p.dir)
}

// unprivileged says as whom to run the server, which refuses to run as root,
// and gives that user the folder.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(dir, uid, gid)
}
