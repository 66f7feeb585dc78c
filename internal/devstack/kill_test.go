package devstack_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ratchet/internal/devstack"
	"ratchet/internal/natsx"
)

const (
	childEnv  = "RATCHET_DEVSTACK_CHILD" // the data folder of a child that is to be killed
	killSteps = 6
	killAt    = 3 // the step in which the child is killed
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		runChild(dir)
		return
	}
	os.Exit(m.Run())
}

// steps runs its activities one after the other.
func steps(ctx workflow.Context, n int) ([]int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Second})
	var out []int
	for i := range n {
		var x int
		if err := workflow.ExecuteActivity(ctx, "step", i).Get(ctx, &x); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// step notes each execution as a file; with hang set it never ends step killAt.
func step(dir string, hang bool) func(context.Context, int) (int, error) {
	return func(ctx context.Context, i int) (int, error) {
		f, err := os.CreateTemp(dir, fmt.Sprintf("step-%d-", i))
		if err != nil {
			return 0, err
		}
		f.Close()
		if hang && i == killAt {
			fmt.Println("hanging")
			select {}
		}
		return i, nil
	}
}

func startSteps(s *devstack.Stack, dir string, hang bool) (client.Client, worker.Worker, error) {
	c, err := client.Dial(client.Options{HostPort: s.TemporalAddress(), Namespace: s.Namespace(), Logger: quiet()})
	if err != nil {
		return nil, nil, err
	}
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(steps)
	w.RegisterActivityWithOptions(step(dir, hang), activity.RegisterOptions{Name: "step"})
	return c, w, w.Start()
}

// runChild runs a workflow until somebody kills the process.
func runChild(dir string) {
	ctx := context.Background()
	lock, err := devstack.Acquire(dir)
	fatal(err)
	s, err := devstack.Start(ctx, devstack.Config{Dir: dir})
	fatal(err)
	fatal(devstack.WriteInfo(dir, s.Info(lock)))
	fatal(publish(ctx, s))
	c, _, err := startSteps(s, dir, true)
	fatal(err)
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "killed", TaskQueue: queue}, steps, killSteps)
	fatal(err)
	select {}
}

// publish sends one event, and returns when the server says that it is stored.
func publish(ctx context.Context, s *devstack.Stack) error {
	c, err := natsx.Connect(ctx, natsx.Config{URL: s.NATSURL()})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.EnsureStreams(ctx); err != nil {
		return err
	}
	_, err = c.Publish(ctx, natsx.Message{Subject: "ratchet.failures.low.a", ID: "1", Data: []byte("x")})
	return err
}

func fatal(err error) {
	if err != nil {
		fmt.Println("child:", err)
		os.Exit(1)
	}
}

// A process that is killed in the middle of a workflow leaves data on which the
// next one finishes it, without doing completed activities again.
func TestWorkflowSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() }) // when the test failed before the kill
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hanging\n", line)

	left, running, err := devstack.ReadInfo(dir)
	require.NoError(t, err)
	require.True(t, running)
	require.Equal(t, child.Process.Pid, left.Pid)
	_, err = devstack.Acquire(dir)
	var held *devstack.LockedError
	require.ErrorAs(t, err, &held)
	require.Equal(t, child.Process.Pid, held.Pid)

	require.NoError(t, child.Process.Kill())
	_ = child.Wait() // reports the kill
	_, running, err = devstack.ReadInfo(dir)
	require.NoError(t, err)
	require.False(t, running)

	lock, err := devstack.Acquire(dir)
	require.NoError(t, err)
	defer lock.Release()
	require.Equal(t, left.Epoch+1, lock.Epoch())
	require.Equal(t, left.Stack, lock.Stack())
	finishSteps(t, dir)
}

func finishSteps(t *testing.T, dir string) {
	s := start(t, devstack.Config{Dir: dir})
	requireEventKept(t, s)
	c, w, err := startSteps(s, dir, false)
	require.NoError(t, err)
	defer c.Close()
	defer w.Stop()
	var got []int
	require.NoError(t, c.GetWorkflow(t.Context(), "killed", "").Get(t.Context(), &got))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, got)
	for i := range killSteps {
		ran, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("step-%d-*", i)))
		require.NoError(t, err)
		want := 1
		if i == killAt {
			want = 2
		}
		require.Len(t, ran, want, "executions of step %d", i)
	}
	d, err := c.DescribeWorkflowExecution(t.Context(), "killed", "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, d.GetWorkflowExecutionInfo().GetStatus())
}

func requireEventKept(t *testing.T, s *devstack.Stack) {
	t.Helper()
	c, err := natsx.Connect(t.Context(), natsx.Config{URL: s.NATSURL()})
	require.NoError(t, err)
	defer c.Close()
	n, err := c.Pending(t.Context(), natsx.FailuresStream)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}
