package repo_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"ratchet/internal/repo"
)

// sshServer runs git for whoever has the right key.
type sshServer struct {
	t       testing.TB
	config  *ssh.ServerConfig
	running sync.WaitGroup
}

// serveSSH starts a server that knows one key, and returns its address and host key.
func serveSSH(t testing.TB, known ssh.PublicKey) (addr string, host ssh.PublicKey) {
	t.Helper()
	s := &sshServer{t: t, config: &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(known.Marshal()) {
				return nil, fmt.Errorf("unknown key")
			}
			return &ssh.Permissions{}, nil
		},
	}}
	signer, _ := newKey(t)
	s.config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close(); s.running.Wait() })
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.connection(c) })
		}
	})
	return l.Addr().String(), signer.PublicKey()
}

func newKey(t testing.TB) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return signer, key
}

func (s *sshServer) connection(c net.Conn) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		if ch.ChannelType() != "session" {
			_ = ch.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		session, requests, err := ch.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.session(session, requests) })
	}
}

// session runs the one command that a client asks for, if it is one of git's.
func (s *sshServer) session(ch ssh.Channel, requests <-chan *ssh.Request) {
	defer ch.Close()
	for r := range requests {
		var exec struct{ Command string }
		if r.Type != "exec" || ssh.Unmarshal(r.Payload, &exec) != nil {
			_ = r.Reply(r.Type == "env", nil)
			continue
		}
		service, path, _ := strings.Cut(exec.Command, " ")
		if service != "git-upload-pack" && service != "git-receive-pack" {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		s.git(ch, strings.TrimPrefix(service, "git-"), strings.Trim(path, "'"))
		return
	}
}

func (s *sshServer) git(ch ssh.Channel, service, path string) {
	cmd := gitCommand(s.t, "", service, path)
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	in, err := cmd.StdinPipe()
	status := uint32(1)
	if err == nil && cmd.Start() == nil {
		go func() { _, _ = io.Copy(in, ch); _ = in.Close() }() // ends with the channel
		if cmd.Wait() == nil {
			status = 0
		}
	}
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
}

// serveAgent runs an ssh agent that holds the keys, and points the environment to it.
func serveAgent(t *testing.T, keys ...ed25519.PrivateKey) {
	ring := agent.NewKeyring()
	for _, k := range keys {
		require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: k}))
	}
	dir, err := os.MkdirTemp("", "agent") // t.TempDir may be too long for a socket
	require.NoError(t, err)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close(); _ = os.RemoveAll(dir) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c); _ = c.Close() }()
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "s"))
}

func knowHosts(t *testing.T, lines ...string) {
	file := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	t.Setenv("SSH_KNOWN_HOSTS", file)
}

func TestImportAndPushOverSSH(t *testing.T) {
	ctx := context.Background()
	src := workTree(t)
	bare := mirror(t, src)
	signer, key := newKey(t)
	addr, host := serveSSH(t, signer.PublicKey())
	serveAgent(t, key)
	knowHosts(t, knownhosts.Line([]string{addr}, host))
	url := "ssh://git@" + addr + bare
	r := importTo(t, url, repo.ImportOptions{})
	fsck(t, r.Path())
	tip, err := r.Resolve(ctx, "main")
	require.NoError(t, err)
	require.Equal(t, git(t, src, "rev-parse", "main"), tip)
	c := commit(t, r, tip, "more", "new.txt", "new\n")
	require.NoError(t, r.SetRef(ctx, "refs/heads/story", "", c.Hash))
	require.NoError(t, r.Push(ctx, url, "refs/heads/story", "refs/heads/ratchet/x", ""))
	require.Equal(t, c.Hash, git(t, bare, "rev-parse", "refs/heads/ratchet/x"))
	fsck(t, bare)

	err = repo.Import(ctx, url+"-not", filepath.Join(t.TempDir(), "r.git"), repo.ImportOptions{})
	require.ErrorIs(t, err, repo.ErrNotFound)
}

func TestSSHThatDoesNotFit(t *testing.T) {
	bare := mirror(t, workTree(t))
	signer, key := newKey(t)
	other, otherKey := newKey(t)
	addr, host := serveSSH(t, signer.PublicKey())
	good := knownhosts.Line([]string{addr}, host)
	for name, c := range map[string]struct {
		keys  []ed25519.PrivateKey
		known string
		says  string
	}{
		"no agent":         {known: good, says: "start an ssh agent"},
		"another key":      {keys: []ed25519.PrivateKey{otherKey}, known: good, says: "load a key"},
		"an unknown host":  {keys: []ed25519.PrivateKey{key}, known: "# none", says: "ssh-keyscan"},
		"another host key": {keys: []ed25519.PrivateKey{key}, known: knownhosts.Line([]string{addr}, other.PublicKey()), says: "somebody may be in between"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SSH_AUTH_SOCK", "")
			if c.keys != nil {
				serveAgent(t, c.keys...)
			}
			knowHosts(t, c.known)
			dst := filepath.Join(t.TempDir(), "r.git")
			err := repo.Import(context.Background(), "ssh://git@"+addr+bare, dst, repo.ImportOptions{})
			require.ErrorIs(t, err, repo.ErrSignIn)
			require.ErrorContains(t, err, c.says)
			require.NoDirExists(t, dst)
		})
	}
}
