package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/auth"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// uiServer serves Temporal's Web UI. It puts the routes of ui-server together
// itself rather than calling its Server, which ends the process when the port is
// busy and never closes its connection.
type uiServer struct {
	url    string
	server *http.Server
	conn   *grpc.ClientConn
	done   chan struct{} // closed when the serving goroutine has ended
}

func startUI(cfg Config, temporal string, log *slog.Logger) (*uiServer, error) {
	listener, err := listen("Web UI", cfg.UIPort)
	if err != nil {
		return nil, err
	}
	conn, err := dialUI(temporal)
	if err != nil {
		return nil, withClose(err, listener)
	}
	handler, err := uiHandler(&config.Config{
		TemporalGRPCAddress: temporal,
		EnableUI:            true,
		DefaultNamespace:    cfg.Namespace,
		DisableNewsFetch:    true, // the UI asks nobody outside this machine
		HideLogs:            true,
		CORS:                config.CORS{CookieInsecure: true}, // plain http on the loopback interface
	}, conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the Web UI: %w", err), conn.Close(), listener.Close())
	}
	u := &uiServer{
		url:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)},
		conn:   conn,
		done:   make(chan struct{}),
	}
	go func() {
		defer close(u.done)
		if err := u.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the Web UI ended", "error", err)
		}
	}()
	return u, nil
}

// dialUI connects with room for the largest histories.
func dialUI(temporal string) (*grpc.ClientConn, error) {
	const maxMessage = 64 << 20 // bytes, as in ui-server
	return dial(temporal, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
}

// uiHandler mirrors ui-server's NewServer, without the parts for other origins
// (no CORS headers are sent, so browsers refuse them) and for sign-on.
func uiHandler(cfg *config.Config, conn *grpc.ClientConn) (http.Handler, error) {
	provider, err := config.NewConfigProviderWithRefresh(cfg)
	if err != nil {
		return nil, err
	}
	all, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	assets, err := fs.Sub(all, "local")
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(middleware.Recover(), localHostOnly, middleware.Gzip(), middleware.Secure(),
		csrf.EnsureTokenCookie(false), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, false)))
	route.SetHealthRoute(e)
	setAPIRoutes(e, provider, conn)
	if err := route.SetUIRoutes(e, "", assets); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "")
	return e, nil
}

func setAPIRoutes(e *echo.Echo, provider *config.ConfigProviderWithRefresh, conn *grpc.ClientConn) {
	forward := []api.Middleware{headers.WithForwardHeaders([]string{auth.AuthorizationExtrasHeader, "Caller-Type"})}
	g := e.Group("/api/v1")
	g.GET("/settings", api.GetSettings(provider))
	g.GET(api.WorkflowRawHistoryUrl, api.WorkflowRawHistoryHandler(workflowservice.NewWorkflowServiceClient(conn)))
	g.Match([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		"/*", api.TemporalAPIHandler(provider, forward, conn))
}

// stop ends open requests and waits for the serving goroutine.
func (u *uiServer) stop(ctx context.Context) error {
	err := within(ctx, func() error {
		err := u.server.Close()
		<-u.done
		return err
	})
	return errors.Join(err, u.conn.Close())
}

// localHostOnly refuses requests for another host name. Without it a web page
// could point a name of its own at the loopback address (DNS rebinding) and
// would then be same-origin with the UI.
func localHostOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := url.URL{Host: c.Request().Host}
		if host := u.Hostname(); host != loopback && host != "localhost" {
			return echo.NewHTTPError(http.StatusForbidden, "only 127.0.0.1 and localhost are served here")
		}
		return next(c)
	}
}
