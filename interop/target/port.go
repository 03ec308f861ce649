package target

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// FreePort returns a port of the loopback address that is not in use. It lies
// below the ports that systems give to clients, so that no connection of another
// run takes it before the server listens.
func FreePort() (string, error) {
	const lowest, ports, tries = 10000, 20000, 100
	for range tries {
		port := strconv.Itoa(lowest + rand.IntN(ports))
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return "", errors.New("no port is free")
}

// AwaitListening waits until a server listens at an address.
func AwaitListening(ctx context.Context, addr string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	const pause = 20 * time.Millisecond
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no server listens at %s after %v: %w", addr, limit, err)
		case <-time.After(pause):
		}
	}
}
