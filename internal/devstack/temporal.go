package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// clusterName is stored in the database, so it must never change.
const clusterName = "active"

// temporalServer is a running Temporal server.
type temporalServer struct {
	address string
	server  temporal.Server
	db      *database
}

// startTemporal opens the database and starts the server on it, with the
// namespace and its search attributes in place.
func startTemporal(ctx context.Context, cfg Config, log *slog.Logger) (*temporalServer, error) {
	db, err := openDatabase(ctx, databasePath(cfg.Dir))
	if err != nil {
		return nil, err
	}
	s, err := startOnDatabase(ctx, cfg, db, log)
	if err != nil {
		return nil, withClose(err, db)
	}
	return s, nil
}

func startOnDatabase(ctx context.Context, cfg Config, db *database, log *slog.Logger) (*temporalServer, error) {
	if err := db.createNamespace(cfg.Namespace, cfg.Retention, cfg.SearchAttributes); err != nil {
		return nil, err
	}
	s, err := runServer(ctx, cfg, db, log)
	if err != nil {
		return nil, err
	}
	changed, err := reconcileNamespace(ctx, s.address, cfg)
	if err == nil && !changed {
		return s, nil
	}
	if stopErr := within(ctx, s.server.Stop); stopErr != nil || err != nil {
		return nil, errors.Join(err, stopErr)
	}
	// The services cache namespaces for seconds; after a change they start anew,
	// so that none of them still refuses a search attribute that was just added.
	return runServer(ctx, cfg, db, log)
}

func runServer(ctx context.Context, cfg Config, db *database, log *slog.Logger) (*temporalServer, error) {
	ports, err := reservePorts("Temporal", cfg.TemporalPort, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	s := &temporalServer{address: hostPort(ports[0]), db: db}
	if s.server, err = newServer(ports, db, log); err != nil {
		return nil, fmt.Errorf("set up the Temporal server: %w", err)
	}
	if err := guard(s.server.Start); err != nil {
		return nil, fmt.Errorf("start the Temporal server: %w", err)
	}
	if err := waitServing(ctx, s.address); err != nil {
		return nil, errors.Join(err, within(context.WithoutCancel(ctx), s.server.Stop))
	}
	return s, nil
}

// guard calls f and returns its panic as an error: the server's way to give up
// on start-up is a fatal log line, which temporalLogger turns into a panic.
func guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fatalError:
			err = p
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

func (s *temporalServer) stop(ctx context.Context) error {
	if err := within(ctx, func() error { return guard(s.server.Stop) }); err != nil {
		return err // the database stays open, for it is still in use
	}
	return s.db.Close()
}

func newServer(ports []int, db *database, log *slog.Logger) (server temporal.Server, err error) {
	names := temporal.DefaultServices // frontend, history, matching, worker
	hosts := make(map[primitives.ServiceName]static.Hosts, len(names))
	services := make(map[string]config.Service, len(names))
	for i, name := range names {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(hostPort(ports[i]))
		services[name] = config.Service{RPC: config.RPC{GRPCPort: ports[i], BindOnIP: loopback}}
	}
	err = guard(func() error {
		server, err = temporal.NewServer(
			temporal.WithConfig(serverConfig(hostPort(ports[0]), services, db)),
			temporal.ForServices(names),
			temporal.WithStaticHosts(hosts),
			temporal.WithLogger(temporalLogger{log}),
			temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
			temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
				return authorization.NewNoopClaimMapper()
			}),
			temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
			temporal.WithDynamicConfigClient(dynamicConfig()),
		)
		return err
	})
	return server, err
}

func serverConfig(frontend string, services map[string]config.Service, db *database) *config.Config {
	return &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: db.sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		PublicClient: config.PublicClient{HostPort: frontend},
	}
}

// dynamicConfig is what differs from the server's defaults, which are made for a
// cluster.
func dynamicConfig() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// Fairness keys let one campaign's tasks not starve another's.
		dynamicconfig.MatchingEnableFairness.Key(): true,
		// One process gains nothing from spreading a queue over partitions, and
		// a poller that looks into an empty one loses time.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// Lists of the Web UI and of the CLI come from one client.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
		// The default cache is sized for a server with many thousand workflows.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8192,
	}
}
