package discover

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// noteDeprecated tells which deprecated features the server declares. That new
// implementations should not adopt them judges nobody: nothing on the wire
// tells whether a server is new (deprecated#deprecated, since 2026-07-28).
func noteDeprecated(t *check.T) {
	if t.Declares("logging") {
		t.Note("the server declares logging, which this revision deprecates in favour of standard error and OpenTelemetry")
	}
}
