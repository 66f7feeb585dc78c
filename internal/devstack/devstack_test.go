package devstack_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"log/slog"

	"ratchet/internal/devstack"
)

const queue = "devstack-test"

func quiet() sdklog.Logger { return sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

func start(t *testing.T, cfg devstack.Config) *devstack.Stack {
	t.Helper()
	s, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return s
}

func dialClient(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func fan(ctx workflow.Context, n int) (int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var futures []workflow.Future
	for i := range n {
		futures = append(futures, workflow.ExecuteActivity(ctx, double, i))
	}
	sum := 0
	for _, f := range futures {
		var x int
		if err := f.Get(ctx, &x); err != nil {
			return 0, err
		}
		sum += x
	}
	return sum, nil
}

// runFan runs a workflow with n activities on the stack to its end.
func runFan(t *testing.T, s *devstack.Stack, id string, attributes temporal.SearchAttributes) {
	t.Helper()
	c := dialClient(t, s.TemporalAddress(), s.Namespace())
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(fan)
	w.RegisterActivity(double)
	require.NoError(t, w.Start())
	defer w.Stop()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue, TypedSearchAttributes: attributes}, fan, 5)
	require.NoError(t, err)
	var sum int
	require.NoError(t, run.Get(t.Context(), &sum))
	require.Equal(t, 20, sum)
}

func TestStackServesWorkflowsAndUI(t *testing.T) {
	dir := t.TempDir()
	s := start(t, devstack.Config{Dir: dir, Namespace: "campaigns", UI: true})
	runFan(t, s, "first", temporal.SearchAttributes{})

	page := get(t, s.UIURL()+"/", http.StatusOK)
	require.Contains(t, page, "<html")
	namespaces := get(t, s.UIURL()+"/api/v1/namespaces", http.StatusOK)
	require.Contains(t, namespaces, `"campaigns"`)
	workflows := get(t, s.UIURL()+"/api/v1/namespaces/campaigns/workflows/first", http.StatusOK)
	require.Contains(t, workflows, "WORKFLOW_EXECUTION_STATUS_COMPLETED")
	var settings struct{ DefaultNamespace string }
	require.NoError(t, json.Unmarshal([]byte(get(t, s.UIURL()+"/api/v1/settings", http.StatusOK)), &settings))
	require.Equal(t, "campaigns", settings.DefaultNamespace)

	for _, address := range []string{s.TemporalAddress(), strings.TrimPrefix(s.UIURL(), "http://"), strings.TrimPrefix(s.NATSURL(), "nats://")} {
		host, _, err := net.SplitHostPort(address)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", host)
	}
}

func get(t *testing.T, url string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, status, res.StatusCode, string(body))
	return string(body)
}

func TestUIRefusesOtherHostNames(t *testing.T) {
	s := start(t, devstack.Config{Dir: t.TempDir(), UI: true})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.UIURL()+"/api/v1/namespaces", nil)
	require.NoError(t, err)
	req.Host = "rebound.example.com"
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusForbidden, res.StatusCode)
}

// The namespace, its retention and its search attributes are made once and
// brought up to date by later starts.
func TestRestartReconcilesNamespace(t *testing.T) {
	dir := t.TempDir()
	repo, score := temporal.NewSearchAttributeKeyKeyword("RatchetRepo"), temporal.NewSearchAttributeKeyFloat64("RatchetScore")
	attributes := map[string]enumspb.IndexedValueType{"RatchetRepo": enumspb.INDEXED_VALUE_TYPE_KEYWORD}
	cfg := devstack.Config{Dir: dir, SearchAttributes: attributes, Retention: 48 * time.Hour}

	s, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	runFan(t, s, "one", temporal.NewSearchAttributes(repo.ValueSet("a")))
	require.NoError(t, s.Stop(t.Context()))

	attributes["RatchetScore"] = enumspb.INDEXED_VALUE_TYPE_DOUBLE
	cfg.Retention = 0
	s = start(t, cfg)
	runFan(t, s, "two", temporal.NewSearchAttributes(repo.ValueSet("a"), score.ValueSet(0.5)))

	c := dialClient(t, s.TemporalAddress(), devstack.DefaultNamespace)
	res, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: devstack.DefaultNamespace})
	require.NoError(t, err)
	require.Equal(t, devstack.DefaultRetention, res.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	require.Eventually(t, func() bool {
		n, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "RatchetRepo = 'a'"})
		return err == nil && n.GetCount() == 2
	}, 30*time.Second, 20*time.Millisecond)
}

func TestSearchAttributeOfAnotherTypeIsRefused(t *testing.T) {
	cfg := devstack.Config{Dir: t.TempDir(), SearchAttributes: map[string]enumspb.IndexedValueType{"RatchetKept": enumspb.INDEXED_VALUE_TYPE_INT}}
	s, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()))
	cfg.SearchAttributes["RatchetKept"] = enumspb.INDEXED_VALUE_TYPE_BOOL
	_, err = devstack.Start(t.Context(), cfg)
	require.ErrorContains(t, err, "RatchetKept")
}

// A deleted database starts anew, in the same process too, and nothing of the
// old one leaks into it.
func TestDeletedDatabaseStartsAnew(t *testing.T) {
	dir := t.TempDir()
	s, err := devstack.Start(t.Context(), devstack.Config{Dir: dir})
	require.NoError(t, err)
	runFan(t, s, "before", temporal.SearchAttributes{})
	require.NoError(t, s.Stop(t.Context()))
	require.NoFileExists(t, filepath.Join(dir, "temporal.db-wal"), "the database was not closed")

	require.NoError(t, os.Remove(filepath.Join(dir, "temporal.db")))
	s = start(t, devstack.Config{Dir: dir})
	c := dialClient(t, s.TemporalAddress(), devstack.DefaultNamespace)
	_, err = c.DescribeWorkflowExecution(t.Context(), "before", "")
	require.ErrorContains(t, err, "not found")
	runFan(t, s, "before", temporal.SearchAttributes{})
}

func TestBusyPortsAreNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for name, cfg := range map[string]devstack.Config{
		"Temporal": {TemporalPort: port}, "Web UI": {UI: true, UIPort: port}, "NATS": {NATSPort: port},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Dir = t.TempDir()
			_, err := devstack.Start(t.Context(), cfg)
			require.ErrorIs(t, err, devstack.ErrPortBusy)
			var busy *devstack.PortBusyError
			require.ErrorAs(t, err, &busy)
			require.Equal(t, devstack.PortBusyError{Service: name, Port: port, Cause: busy.Cause}, *busy)

			cfg.TemporalPort, cfg.UIPort, cfg.NATSPort = 0, 0, 0
			start(t, cfg) // the failed start left nothing behind
		})
	}
}

func TestOneStackPerFolder(t *testing.T) {
	dir := t.TempDir()
	start(t, devstack.Config{Dir: dir})
	_, err := devstack.Start(t.Context(), devstack.Config{Dir: dir})
	require.ErrorIs(t, err, devstack.ErrLocked)
}

func TestStopIsIdempotent(t *testing.T) {
	var none *devstack.Stack
	require.NoError(t, none.Stop(t.Context()))
	s := start(t, devstack.Config{Dir: t.TempDir(), UI: true})
	began := time.Now()
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Stop(t.Context()))
	require.Less(t, time.Since(began), devstack.DefaultStopTimeout)
	_, err := net.Dial("tcp", s.TemporalAddress())
	require.Error(t, err)
}

func TestInvalidConfigNamesEveryError(t *testing.T) {
	_, err := devstack.Start(t.Context(), devstack.Config{Retention: time.Second, UIPort: -1})
	require.ErrorContains(t, err, "no data folder")
	require.ErrorContains(t, err, "retention is 1s")
	require.ErrorContains(t, err, "Web UI port is -1")
}
