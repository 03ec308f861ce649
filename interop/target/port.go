package target

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// freePort returns a port of the loopback address that nobody listens on. It
// lies below those that systems give to clients, so that no connection of a run
// beside this one takes it before the server is up.
func freePort() (string, error) {
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
