package posting

import (
	"errors"
	"syscall"
)

// MaxAddresses bounds how many addresses of a machine are tried.
const MaxAddresses = 4

// IsUnreachable tells whether an error is that nobody listens at an address, or that
// no way leads there.
func IsUnreachable(err error) bool {
	for _, e := range []error{syscall.ECONNREFUSED, syscall.ENETUNREACH, syscall.EHOSTUNREACH} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ForeignOrigins are origins of other sites that a careless comparison may take for
// one of a server on the loopback interface: on its port, with its name at the
// beginning or at the end of theirs.
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
