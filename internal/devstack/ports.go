package devstack

import (
	"fmt"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// listen opens the port of a service, any free one for 0.
func listen(service string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", hostPort(port))
	if err == nil {
		return l, nil
	}
	if port != 0 {
		return nil, &PortBusyError{Service: service, Port: port, Cause: err}
	}
	return nil, fmt.Errorf("%s: find a free port: %w", service, err)
}

// reservePorts returns one port for each that is wanted, all different, and
// checks that those asked for by number are free. The servers that get them open
// the ports themselves and end the process when one is busy, hence this probe.
func reservePorts(service string, want ...int) ([]int, error) {
	listeners := make([]net.Listener, 0, len(want))
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	ports := make([]int, 0, len(want))
	for _, w := range want {
		l, err := listen(service, w)
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
		if w == 0 {
			if err := lingerPort(l); err != nil {
				return nil, fmt.Errorf("%s: reserve a free port: %w", service, err)
			}
		}
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// lingerPort leaves a connection in TIME_WAIT on the listener's port. As long as
// that lasts (a minute on Linux) the kernel hands the port to nobody who asks for
// any free one, but it can still be opened by number: this closes the gap between
// the probe and its use against other stacks that are starting.
func lingerPort(l net.Listener) error {
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		return err
	}
	return server.Close() // the side that closes first keeps TIME_WAIT
}
