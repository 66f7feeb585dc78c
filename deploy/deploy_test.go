// Package deploy holds what an installation is made from. Its tests read the files
// as the programs do that they are for.
package deploy

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

const secret = "canary-0d8f"

// load reads docker-compose.yml with the settings of .env.example, as a current Compose does.
func load(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	opts, err := cli.NewProjectOptions([]string{"../docker-compose.yml"},
		cli.WithWorkingDirectory(".."), cli.WithName("ratchet"), cli.WithProfiles(profiles),
		cli.WithEnvFiles("../.env.example"), cli.WithDotEnv, cli.WithEnv([]string{"POSTGRES_PASSWORD=" + secret}),
		cli.WithResolvedPaths(true))
	require.NoError(t, err)
	p, err := opts.LoadProject(context.Background())
	require.NoError(t, err)
	return p
}

func TestComposeFileIsValid(t *testing.T) {
	p := load(t)
	require.ElementsMatch(t, []string{"postgres", "temporal-schema", "temporal", "temporal-namespace", "temporal-ui", "nats", "ratchet"}, p.ServiceNames())
	for name, s := range p.Services {
		require.False(t, s.Privileged, name)
		for _, port := range s.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s is reachable from other machines", name)
		}
		if s.Build == nil {
			require.Regexp(t, `:v?\d+\.\d+`, s.Image, "%s is not pinned", name)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && strings.Contains(v.Source, "/deploy/") {
				require.FileExists(t, v.Source)
			}
		}
	}
	require.FileExists(t, filepath.Join(p.Services["ratchet"].Build.Context, p.Services["ratchet"].Build.Dockerfile))
}

// TestModelServerIsApart: it is a weak container, and only the worker may reach it.
func TestModelServerIsApart(t *testing.T) {
	require.NotContains(t, load(t).ServiceNames(), "vllm")
	p := load(t, "gpu")
	s := p.Services["vllm"]
	require.Equal(t, "vllm/vllm-openai-rocm:v0.23.0", s.Image)
	var devices []string
	for _, d := range s.Devices {
		devices = append(devices, d.Source)
	}
	require.Equal(t, []string{"/dev/kfd", "/dev/dri"}, devices)
	require.Equal(t, []string{"video", "109"}, s.GroupAdd)
	require.Equal(t, []string{"SYS_PTRACE"}, s.CapAdd)
	require.Equal(t, []string{"seccomp=unconfined"}, s.SecurityOpt)
	require.GreaterOrEqual(t, int64(s.ShmSize), int64(8<<30))
	require.Equal(t, "1", *s.Environment["VLLM_ROCM_USE_AITER"])
	require.Equal(t, "0", *s.Environment["HIP_VISIBLE_DEVICES"])
	require.GreaterOrEqual(t, s.HealthCheck.StartPeriod.String(), "30m")
	for name, other := range p.Services {
		_, shares := other.Networks["models"]
		require.Equal(t, name == "vllm" || name == "ratchet", shares, name)
	}
	require.Len(t, s.Networks, 1)
}

// TestPasswordHasNoDefault: an installation does not start with one that everybody knows.
func TestPasswordHasNoDefault(t *testing.T) {
	opts, err := cli.NewProjectOptions([]string{"../docker-compose.yml"}, cli.WithWorkingDirectory(".."), cli.WithName("ratchet"))
	require.NoError(t, err)
	_, err = opts.LoadProject(context.Background())
	require.ErrorContains(t, err, "POSTGRES_PASSWORD")
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)`)

func TestEveryVariableIsExplained(t *testing.T) {
	compose, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	example, err := os.ReadFile("../.env.example")
	require.NoError(t, err)
	used := map[string]bool{}
	for _, m := range variable.FindAllStringSubmatch(string(compose), -1) {
		used[m[1]] = true
		require.Contains(t, string(example), "\n"+m[1]+"=", m[1])
	}
	for line := range strings.SplitSeq(string(example), "\n") {
		if name, _, found := strings.Cut(line, "="); found && !strings.HasPrefix(line, "#") {
			require.True(t, used[name], "%s is used by nobody", name)
		}
	}
}

// TestOldCompose: Compose 1.29 is what Debian 12 has.
func TestOldCompose(t *testing.T) {
	path, err := exec.LookPath("docker-compose")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("docker-compose is not installed")
	}
	require.NoError(t, err)
	for _, args := range [][]string{{"config", "--quiet"}, {"--profile", "gpu", "config", "--quiet"}} {
		cmd := exec.Command(path, append([]string{"--env-file", ".env.example"}, args...)...)
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "POSTGRES_PASSWORD="+secret)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func TestNATSConfiguration(t *testing.T) {
	o, err := server.ProcessConfigFile("nats/nats.conf")
	require.NoError(t, err)
	require.True(t, o.JetStream)
	require.True(t, o.SyncAlways, "an acknowledged failure must survive a crash")
	require.Equal(t, "/data", o.StoreDir)
}

func TestScriptsParse(t *testing.T) {
	scripts, err := filepath.Glob("temporal/*.sh")
	require.NoError(t, err)
	require.Len(t, scripts, 2)
	for _, s := range scripts {
		out, err := exec.Command("sh", "-n", s).CombinedOutput()
		require.NoError(t, err, "%s: %s", s, out)
	}
}

// TestImageNeedsAGoToolChainOnly: every step runs go itself, in the form that needs no shell.
func TestImageNeedsAGoToolChainOnly(t *testing.T) {
	file, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	steps := 0
	for line := range bytes.SplitSeq(file, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("RUN ")) {
			steps++
			require.True(t, bytes.HasPrefix(line, []byte(`RUN ["go", `)), "%s", line)
		}
		if bytes.HasPrefix(line, []byte("FROM ")) {
			require.True(t, bytes.HasPrefix(line, []byte("FROM ${GO_IMAGE}")), "%s", line)
		}
	}
	require.Equal(t, 2, steps)
}
