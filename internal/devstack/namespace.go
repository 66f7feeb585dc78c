package devstack

import (
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// startTimeout bounds how long the server may take until it serves.
const startTimeout = 30 * time.Second

func dial(address string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:///"+address, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", address, err)
	}
	return conn, nil
}

// waitServing returns when the frontend says that it serves.
func waitServing(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	health := grpc_health_v1.NewHealthClient(conn)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: workflowservice.WorkflowService_ServiceDesc.ServiceName}, grpc.WaitForReady(true))
		if err == nil && res.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for Temporal at %s to serve (last answer %s, %v): %w", address, res.GetStatus(), err, ctx.Err())
		case <-tick.C:
		}
	}
}

// reconcileNamespace brings a namespace that an earlier start made up to date:
// it adds search attributes that are missing and sets the retention. It says
// whether it changed anything.
func reconcileNamespace(ctx context.Context, address string, cfg Config) (changed bool, err error) {
	conn, err := dial(address)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	added, err := AddSearchAttributes(ctx, operatorservice.NewOperatorServiceClient(conn), cfg.Namespace, cfg.SearchAttributes)
	if err != nil {
		return false, err
	}
	updated, err := setRetention(ctx, workflowservice.NewWorkflowServiceClient(conn), cfg)
	return added || updated, err
}

// AddSearchAttributes adds those that a namespace lacks, and says whether it added
// any. One that is there with another type is an error.
func AddSearchAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string, want map[string]enumspb.IndexedValueType) (added bool, err error) {
	res, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return false, fmt.Errorf("list the search attributes of namespace %q: %w", namespace, err)
	}
	missing := make(map[string]enumspb.IndexedValueType)
	for name, kind := range want {
		have, ok := res.GetCustomAttributes()[name]
		if !ok {
			missing[name] = kind
		} else if have != kind {
			return false, fmt.Errorf("search attribute %s of namespace %q is a %s, not a %s: use another name", name, namespace, have, kind)
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return false, fmt.Errorf("add the search attributes %v to namespace %q: %w", sortedKeys(missing), namespace, err)
	}
	return true, nil
}

func setRetention(ctx context.Context, service workflowservice.WorkflowServiceClient, cfg Config) (bool, error) {
	res, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: cfg.Namespace})
	if err != nil {
		return false, fmt.Errorf("describe namespace %q: %w", cfg.Namespace, err)
	}
	if res.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == cfg.Retention {
		return false, nil
	}
	_, err = service.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: cfg.Namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(cfg.Retention)},
	})
	if err != nil {
		return false, fmt.Errorf("set the retention of namespace %q to %s: %w", cfg.Namespace, cfg.Retention, err)
	}
	return true, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
