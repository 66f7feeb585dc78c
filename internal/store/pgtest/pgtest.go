// Package pgtest starts a PostgreSQL server of its own for tests: without a port,
// on a socket in a temporary folder.
package pgtest

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
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing: PostgreSQL is not installed (apt-get install postgresql).
var ErrMissing = errors.New("PostgreSQL is not installed")

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	dir     string
	cmd     *exec.Cmd
	schemas atomic.Int64
}

// Start starts a server, or returns ErrMissing. The caller stops it.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	p := &Server{dir: dir}
	if err := p.start(bin); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Schema makes a new, empty schema, which is much cheaper than a database, and
// returns its DSN.
func (p *Server) Schema(ctx context.Context) (dsn string, err error) {
	schema := fmt.Sprintf("test%d", p.schemas.Add(1))
	conn, err := pgx.Connect(ctx, p.dsn("public"))
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "CREATE SCHEMA "+schema)
	return p.dsn(schema), errors.Join(err, conn.Close(ctx))
}

// dsn addresses a schema of the server, which listens on a socket in its own folder only.
func (p *Server) dsn(schema string) string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres search_path=%s", p.dir, schema)
}

// programs finds the server's programs: on Debian they are not in PATH.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", ErrMissing
	}
	sort.Strings(found)
	return filepath.Dir(found[len(found)-1]), nil
}

func (p *Server) start(bin string) error {
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
func (p *Server) ready() error {
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

// Stop ends the server and removes its folder.
func (p *Server) Stop() error {
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
