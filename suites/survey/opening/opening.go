package opening

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// A Outcome is what came of messages on an instance of their own, which several
// checks look at.
type Outcome struct {
	At       *check.T
	Answer   wire.Message
	Answered bool
	Status   int // of HTTP, where the answer came with one of its own or was that alone
}

// OutcomeOf returns what came of a message, as TryFrame returned it.
func OutcomeOf(at *check.T, e wire.Entry, err error) Outcome {
	out := Outcome{At: at, Answer: e.Message, Answered: err == nil, Status: posting.StatusBlamingClient(err)}
	if e.HTTP != nil && out.Status == 0 {
		out.Status = e.HTTP.Status
	}
	return out
}

// An Trial is the trial of a client of the handshake era, and whether a ping
// was answered once initialize was.
type Trial struct {
	Outcome
	Unsent error // why the opening could not be ended
	Pong   wire.Message
	Ponged bool
}

var versioningLegacyKey = check.NewKey[Trial]("versioning.legacy")

// Legacy sends initialize as the first message, without any of the stateless
// era's fields, and goes on as that client would.
func Legacy(t *check.T) Trial {
	return check.Once(t, versioningLegacyKey, func() Trial {
		at := t.Sessions().UnopenedAt(spec.Handshake.Newest())
		e, err := at.Try("initialize", check.InitializeParams(string(at.Rev))).Get()
		o := Trial{Outcome: OutcomeOf(at, e, err)}
		if o.Answer.Kind != wire.Result {
			return o
		}
		if o.Unsent = check.TryNotify(at, "notifications/initialized", nil); o.Unsent == nil {
			o.Pong, o.Ponged = at.Try("ping", nil).Answer()
		}
		return o
	})
}
