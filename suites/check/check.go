// Package check defines checks and the handles of their bodies: T drives a server, J
// examines the transcript of a session. It does not import Ginkgo or gomega: T has
// Helper and Fatalf, which gomega requires.
package check

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Check is one test of one behavior, as a value: the test tree, listings, reports,
// traceability and the fault matrix are computed from these.
type Check struct {
	ID    string        // stable dotted path: area first, never a position, never reused
	Says  string        // the behavior that the check requires
	Level spec.Level    // a broken Must fails, a broken Should or Robust warns
	In    spec.Set      // revisions that state it
	On    transport.Set // transports that it can be observed on
	Needs string        // capability the server must declare; "" for none
	Rules []string      // rows of the ledger that it claims
	Of    wire.Role     // the judged side
	Spec  string        // section hint of a check that claims no row

	// Profile names the fixtures that the check needs, "" for none. A check of a
	// profile runs if the target promises these fixtures. It claims no rule, because
	// the contract of the fixtures states what it requires.
	Profile string

	// Session is the session that a probe runs in.
	Session SessionKind
	// ChargedWith is the method whose valid messages are charged to the check if the
	// server ends on them, whatever check sent them; "" for none.
	ChargedWith string
	// Malforms: the probe sends messages that break the schema on purpose.
	Malforms bool

	// Whole: the judge needs a session from its opening on, so that it does not apply
	// to parts of one, as golden exchanges and fuzzing plans are.
	Whole bool

	// Idle says why the check is not observed if its body returns without evidence
	// (T.Saw, J.Saw), and Hint what would bring the situation about, for the user.
	Idle, Hint string

	// Exactly one body. A Probe drives a server and asserts. A Judge examines the
	// transcript of one session.
	Probe func(t *T)
	Judge func(j *J)
}

// Area returns the first segment of the id.
func (c Check) Area() string {
	area, _, _ := strings.Cut(c.ID, ".")
	return area
}

// Validate returns what is wrong with the literal.
func (c Check) Validate() error {
	switch {
	case c.ID == "" || c.Says == "":
		return fmt.Errorf("check %q has no id or no text (Says)", c.ID)
	case !strings.Contains(c.ID, "."):
		return fmt.Errorf("check %s: the id has no area", c.ID)
	case c.Level != spec.Must && c.Level != spec.Should && c.Level != spec.Robust:
		return fmt.Errorf("check %s: level %q", c.ID, c.Level)
	case c.In == 0 || c.On == 0:
		return fmt.Errorf("check %s applies nowhere", c.ID)
	case c.Of != wire.Server && c.Of != wire.Client:
		return fmt.Errorf("check %s has no role to judge", c.ID)
	case (c.Probe == nil) == (c.Judge == nil):
		return fmt.Errorf("check %s needs a probe or a judge, not both", c.ID)
	case c.Judge != nil && (c.Session != SharedSession || c.Malforms):
		return fmt.Errorf("check %s: a judge sends nothing", c.ID)
	case c.Whole && c.Judge == nil:
		return fmt.Errorf("check %s: only a judge may need whole sessions", c.ID)
	case c.Profile != "" && len(c.Rules) > 0:
		return fmt.Errorf("check %s of the profile %s claims rules", c.ID, c.Profile)
	case c.Idle == "" || c.Hint == "":
		return fmt.Errorf("check %s does not say why it is not observed (Idle) or what would help (Hint)", c.ID)
	case len(c.Rules) == 0 && c.Level != spec.Robust && c.Profile == "":
		return fmt.Errorf("check %s claims no rule", c.ID)
	case c.ChargedWith != "" && c.Level != spec.Robust:
		return fmt.Errorf("check %s: no clause forbids that a server ends on %s", c.ID, c.ChargedWith)
	case c.Spec != "" && c.Level != spec.Robust && c.Profile == "":
		return fmt.Errorf("check %s: sections come from its rules", c.ID)
	}
	return nil
}

// A SessionKind is the kind of session that a probe runs in.
type SessionKind uint8

const (
	// SharedSession is open and used by most probes of a revision.
	SharedSession SessionKind = iota
	// OwnSession is open and used by this probe alone.
	OwnSession
	// UnopenedSession is used by this probe alone, which performs the opening.
	UnopenedSession
	// NoCapabilities is open and shared by probes of a client that declares no
	// capability.
	NoCapabilities
)

// Alone reports whether no other probe uses the session.
func (k SessionKind) Alone() bool { return k == OwnSession || k == UnopenedSession }
