package opening

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// An Outcome is the outcome of a message in an instance of its own, which several
// checks examine.
type Outcome struct {
	At       *check.T
	Answer   wire.Message
	Answered bool
	Status   int // of HTTP, if the answer had one or was only that
}

// OutcomeOf returns the outcome of a message from what Try returned for it.
func OutcomeOf(at *check.T, e wire.Entry, err error) Outcome {
	out := Outcome{At: at, Answer: e.Message, Answered: err == nil, Status: posting.ClientErrorStatus(err)}
	if e.HTTP != nil && out.Status == 0 {
		out.Status = e.HTTP.Status
	}
	return out
}

// A LegacyOpening is the outcome of a client of the handshake era: of its initialize,
// and of a ping if initialize succeeded.
type LegacyOpening struct {
	Outcome
	Unsent       error // why notifications/initialized could not be sent
	PingAnswer   wire.Message
	PingAnswered bool
}

var legacyOpeningKey = check.NewKey[LegacyOpening]("legacy opening")

// OpenAsLegacyClient sends initialize as the first message, without any of the fields
// of the stateless era, and goes on as a client of the handshake era does.
func OpenAsLegacyClient(t *check.T) LegacyOpening {
	return check.Once(t, legacyOpeningKey, func() LegacyOpening {
		at := t.Sessions().UnopenedAt(spec.Handshake.Newest())
		e, err := at.Try("initialize", check.InitializeParams(string(at.Rev))).Get()
		o := LegacyOpening{Outcome: OutcomeOf(at, e, err)}
		if o.Answer.Kind != wire.Result {
			return o
		}
		if o.Unsent = check.TryNotify(at, "notifications/initialized", nil); o.Unsent == nil {
			o.PingAnswer, o.PingAnswered = at.Try("ping", nil).Answer()
		}
		return o
	})
}
