package posting

import (
	"errors"
	"syscall"
)

// MaxAddresses bounds the addresses of a machine that are tried.
const MaxAddresses = 4

// IsUnreachable reports whether an error means that no process listens at an address,
// or that there is no route to it.
func IsUnreachable(err error) bool {
	for _, e := range []error{syscall.ECONNREFUSED, syscall.ENETUNREACH, syscall.EHOSTUNREACH} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ForeignOrigins returns origins of other sites that a careless comparison may accept
// as that of a server on the loopback interface: with its port, or with its name at the
// beginning or the end of theirs.
func ForeignOrigins(port string) []string {
	return []string{
		"http://evil.example",
		"http://evil.example:" + port,
		"http://localhost.evil.example:" + port,
		"http://127.0.0.1.evil.example",
		"http://notlocalhost:" + port,
		"https://evil.example",
	}
}
