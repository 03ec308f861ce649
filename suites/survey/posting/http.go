package posting

import (
	"errors"
	"syscall"

	"github.com/mcpcheck/mcpcheck/suites/check"
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

// A HeaderChange is a change of the headers of a request, with its name in messages.
type HeaderChange struct {
	What string
	Edit check.Edit
}

// UnclearOrigins returns headers Origin that a server may accept on purpose, so that no
// clause judges the answer.
func UnclearOrigins() []HeaderChange {
	return []HeaderChange{
		{"Origin null", check.With("Origin", "null")},
		{"an Origin of another port of this machine", check.With("Origin", "http://localhost:1")},
	}
}

// RequireLoopback ends the body if the server is not used over the loopback interface,
// for the given reason.
func RequireLoopback(t *check.T, why string) {
	if !check.IsLoopback(t.HTTP().URL()) {
		t.NotObserved("the server is not used over the loopback interface: "+why,
			"give a URL with localhost or 127.0.0.1")
	}
}

// OperatorDecidesOrigins is why foreign origins are judged on the loopback interface
// only.
const OperatorDecidesOrigins = "its operator decides which origins it accepts"

// AcceptStream sets the Accept field of a GET for a stream.
func AcceptStream() check.Edit { return check.With("Accept", "text/event-stream") }
