package main

import (
	"context"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ratchet/internal/devstack"
	"ratchet/internal/doctor"
	"ratchet/internal/model"
	"ratchet/internal/store"
	"ratchet/workers"
)

// diagnosis is what doctor found, by the names of the checks.
type diagnosis struct {
	doctor.Report
	t testing.TB
}

// doctor runs the command, which must end with a code, and requires that every
// check that is not well says what to do.
func (c *cli) doctor(code int, args ...string) diagnosis {
	c.t.Helper()
	r := c.run(append([]string{"doctor", "--json"}, args...)...)
	require.Equal(c.t, code, r.code, "%s%s", r.stdout, r.stderr)
	d := diagnosis{t: c.t}
	decodeOne(c.t, r.stdout, &d.Report)
	require.Equal(c.t, code == exitOK, d.OK)
	for _, o := range d.Checks {
		require.NotEmpty(c.t, o.Found, o.Name)
		require.Equal(c.t, o.Status == doctor.OK, o.Hint == "", "%+v", o)
	}
	return d
}

// says requires the status of a check, and texts in what it found or advises.
func (d diagnosis) says(name string, status doctor.Status, texts ...string) {
	d.t.Helper()
	for _, o := range d.Checks {
		if o.Name != name {
			continue
		}
		require.Equal(d.t, status, o.Status, "%+v", o)
		for _, text := range texts {
			require.Contains(d.t, o.Found+" → "+o.Hint, text)
		}
		return
	}
	require.Fail(d.t, "there is no check "+name)
}

var fileChecks = []string{"campaign file", "repository", "image", "memory", "model"}

func TestDoctorWithoutAFile(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	d := c.doctor(exitOK)
	for _, name := range fileChecks {
		d.says(name, doctor.Skipped, "no campaign file was named", "ratchet doctor FILE")
	}
	d.says("Docker", doctor.OK, "engine", "API", "cgroup v")
	d.says("limits", doctor.OK, "memory, pids and CPU")
	d.says("data folder", doctor.OK, c.data(), "can be made")
	d.says("store", doctor.OK, "none yet")
	d.says("Temporal", doctor.OK, "starts with the stack")
	d.says("NATS", doctor.OK, "starts with the stack")
	d.says("git", doctor.OK)
	require.NoDirExists(t, filepath.Join(c.dir, "state"), "nothing was made")

	names := []string{}
	for _, o := range d.Checks {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"campaign file", "repository", "Docker", "limits", "image", "sandbox", "memory", "disk",
		"data folder", "store", "ports", "Temporal", "NATS", "model", "clock", "git"}, names)
	out := c.ok("doctor")
	require.Regexp(t, `(?m)^ok +Docker +engine `, out)
	require.Regexp(t, `(?m)^skipped +model +no campaign file was named$`, out)
}

func TestDoctorOfAGoodCampaign(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	file := c.good()
	d := c.doctor(exitOK, file)
	d.says("campaign file", doctor.OK, "campaign good")
	d.says("repository", doctor.OK, "1 problem", "(main)")
	d.says("image", doctor.OK, "host-go")
	d.says("memory", doctor.OK, "2 boxes of 1GiB")
	d.says("model", doctor.Skipped, "calls no model")
	require.NoDirExists(t, c.data())
}

func TestDoctorOfAWrongFile(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.write("bad.yaml", "name: Not A Name\nrepo: ./x\nseed: many\ngate: {alpha: 7}\n")
	d := c.doctor(exitUsage, "bad.yaml")
	d.says("campaign file", doctor.Failed, "bad.yaml has 3 errors", "ratchet schema")
	require.Len(t, d.Checks[0].Details, 3)
	for i, line := range []string{"bad.yaml:1:", "bad.yaml:3:", "bad.yaml:4:"} {
		require.Contains(t, d.Checks[0].Details[i], line)
	}
	d.says("repository", doctor.Skipped, "correct the campaign file first")
	d.says("Docker", doctor.OK, "engine")
	r := c.run("doctor", "bad.yaml")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stdout, "bad.yaml:4:")
	require.Contains(t, r.stderr, "ratchet: doctor: failed: campaign file")

	c.doctor(exitUsage, "none.yaml").says("campaign file", doctor.Failed, "no such file")
}

func TestDoctorOfAWrongRepository(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.repository("old.git", "master", module(map[string]string{"clamp_test.go": okTest}))
	c.repository("bare.git", "main", module(map[string]string{"clamp.go": "package clamp\n"}))
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	c.repository("lfs.git", "main", module(map[string]string{"clamp_test.go": okTest, "big.bin": lfs}))
	c.doctor(exitUsage, c.campaign("old", "./old.git")).says("repository", doctor.Failed, "read base main", "the branches are: master")
	c.doctor(exitUsage, c.campaign("bare", "./bare.git")).says("repository", doctor.Failed, "no test")
	c.doctor(exitUsage, c.campaign("gone", "./gone.git")).says("repository", doctor.Failed, "no git repository", "check repo")
	c.doctor(exitOK, c.campaign("lfs", "./lfs.git")).says("repository", doctor.Warning, "1 file in Git LFS, such as big.bin", "commit the files")
	d := c.doctor(exitUsage, c.campaign("greedy", "./lfs.git", "sandbox: {cpus: 256, image: '127.0.0.1:1/nobody/has:this'}"))
	d.says("limits", doctor.Failed, "256 CPUs", "sandbox.cpus")
	d.says("image", doctor.Failed, "no such image", "docker load")
	d.says("sandbox", doctor.Skipped, "cannot be used")
}

func TestDoctorWithoutDocker(t *testing.T) {
	c := newCLI(t)
	file := c.good()
	dead := "unix://" + filepath.Join(c.dir, "docker.sock")
	t.Setenv("DOCKER_HOST", dead)
	d := c.doctor(exitEnvironment, file)
	d.says("Docker", doctor.Failed, "not reachable", dead, "start the Docker engine, or set DOCKER_HOST")
	for _, name := range []string{"limits", "image", "sandbox"} {
		d.says(name, doctor.Skipped, "Docker cannot be reached")
	}
	d.says("repository", doctor.OK)
	d.says("memory", doctor.OK)
	r := c.run("doctor", file)
	require.Equal(t, exitEnvironment, r.code)
	require.Contains(t, r.stderr, "doctor: failed: Docker")
}

// TestDoctorOfAHangingDocker: an engine that takes connections and says nothing holds nothing up.
func TestDoctorOfAHangingDocker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	t.Setenv("DOCKER_HOST", "tcp://"+l.Addr().String())
	c := newCLI(t)
	d := c.doctor(exitEnvironment, "--timeout", "3s")
	d.says("Docker", doctor.Failed, "no answer", "DOCKER_HOST")
	d.says("sandbox", doctor.Skipped, "Docker cannot be reached")
	d.says("git", doctor.OK)
	c.fails(exitUsage, []string{"--timeout is -1s"}, "doctor", "--timeout", "-1s")
}

func TestDoctorInterrupted(t *testing.T) {
	c := newCLI(t)
	r := c.runContext(cancelled(t), "doctor")
	require.Equal(t, exitInterrupted, r.code)
	require.Empty(t, r.stdout)
}

func TestDoctorOfDataFolders(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.write("occupied", "a file")
	d := c.doctor(exitEnvironment, "--data", "occupied")
	d.says("data folder", doctor.Failed, "occupied is a file", "--data")

	lock, err := devstack.Acquire(c.data())
	require.NoError(t, err)
	d = c.doctor(exitOK)
	d.says("data folder", doctor.Warning, "is held by process "+strconv.Itoa(os.Getpid()), "serves no stack", "--data")
	require.NoError(t, lock.Release())
	c.doctor(exitOK).says("data folder", doctor.OK, "nobody holds it")
	entries, err := os.ReadDir(c.data())
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, []string{"ratchet.db", "temporal.db", "stack.json"}, e.Name())
	}
}

// TestDoctorOfASmallReadOnlyDisk mounts a file system of 64 MiB, which root may;
// others take a folder that they may not write to.
func TestDoctorOfASmallReadOnlyDisk(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	dir := filepath.Join(c.dir, "sealed")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if os.Getuid() != 0 {
		require.NoError(t, os.Chmod(dir, 0o500))
		c.doctor(exitEnvironment, "--data", "sealed").says("data folder", doctor.Failed, dir, "permission denied", "right to write")
		return
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	d := c.doctor(exitEnvironment, "--data", "sealed")
	d.says("disk", doctor.Failed, "64 MiB for the data folder", "at least 1.0 GiB", "docker image prune")
	d.says("data folder", doctor.OK)
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=64m"))
	c.doctor(exitEnvironment, "--data", "sealed").says("data folder", doctor.Failed, dir, "read-only", "right to write")
}

func TestDoctorOfStores(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.withStore(func(context.Context, *store.Store) {})
	c.doctor(exitOK).says("store", doctor.OK, "schema version", "0 campaigns")
	path := workers.StorePath(c.data())
	require.NoError(t, os.WriteFile(path, []byte("no database, and no store"), 0o600))
	c.doctor(exitEnvironment).says("store", doctor.Failed, "damaged or is no store", "restore the file from a copy")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "no database, and no store", string(data))
}

func TestDoctorOfOtherVersions(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.withStore(func(context.Context, *store.Store) {})
	c.sql("ratchet.db", `DELETE FROM schema_version WHERE version_id = (SELECT MAX(version_id) FROM schema_version)`)
	c.doctor(exitOK).says("store", doctor.Warning, "an older ratchet", "the next start migrates it")
	c.sql("ratchet.db", `INSERT INTO schema_version (version_id, is_applied) VALUES (99999, 1)`)
	c.doctor(exitEnvironment).says("store", doctor.Failed, "a newer ratchet", "upgrade ratchet")

	c.sql("temporal.db", `CREATE TABLE ratchet_stamp (made_by TEXT NOT NULL)`)
	c.sql("temporal.db", `INSERT INTO ratchet_stamp VALUES ('Temporal server 1.20')`)
	d := c.doctor(exitEnvironment)
	d.says("Temporal", doctor.Failed, "made by Temporal server 1.20", "move the file away")
	d.says("data folder", doctor.OK)
}

// sql changes a database of the data folder.
func (c *cli) sql(file, statement string) {
	c.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(c.data(), file))
	require.NoError(c.t, err)
	_, err = db.Exec(statement)
	require.NoError(c.t, err)
	require.NoError(c.t, db.Close())
}

// TestDoctorOfACampaignUnderWay: it goes on from its own copy of a repository that is gone.
func TestDoctorOfACampaignUnderWay(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	file := c.good()
	c.withStore(func(ctx context.Context, s *store.Store) {
		row := model.Campaign{Name: "good", Spec: []byte(`{}`), Source: c.dir + "/good.git", Phase: "generation 2", Baseline: &model.Score{}}
		require.NoError(t, s.CreateCampaign(ctx, row))
	})
	require.NoError(t, os.RemoveAll(filepath.Join(c.dir, "good.git")))
	d := c.doctor(exitOK, file)
	d.says("repository", doctor.Warning, "goes on from its own copy", "no git repository")
	d.says("store", doctor.OK, "1 campaign")
}

func TestDoctorOfARunningStack(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	c.dev()
	d := c.doctor(exitOK)
	d.says("Temporal", doctor.OK, "serves", "namespace default has its search attributes")
	d.says("NATS", doctor.OK, "JetStream is enabled", "0 failures wait")
	d.says("data folder", doctor.OK, "is held by our stack, process "+strconv.Itoa(os.Getpid()))
	d.says("store", doctor.OK, "schema version")
}

// TestDoctorOfAnInstallation: services that the environment names are looked at
// in the place of our own.
func TestDoctorOfAnInstallation(t *testing.T) {
	needDocker(t)
	c := newCLI(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := l.Addr().String()
	require.NoError(t, l.Close())
	c.env[envStore] = "postgres://u:secretword@" + dead + "/x"
	d := c.doctor(exitEnvironment)
	d.says("store", doctor.Failed, envNATS)
	c.env[envNATS] = "nats://" + dead
	c.env["TEMPORAL_ADDRESS"] = dead
	d = c.doctor(exitEnvironment, "--timeout", "5s")
	d.says("store", doctor.Failed, "PostgreSQL runs")
	d.says("NATS", doctor.Failed, dead, "RATCHET_NATS_URL")
	d.says("Temporal", doctor.Failed, dead, "TEMPORAL_ADDRESS")
	d.says("ports", doctor.Skipped)
	require.NotContains(t, c.run("doctor", "--timeout", "5s").stdout, "secretword")
}
