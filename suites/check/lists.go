package check

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Servers joins lists of checks of servers and fills what is the same in nearly
// all of them: they judge a server, on every transport.
func Servers(lists ...[]Check) []Check { return join(wire.Server, lists) }

// Clients joins lists of checks of clients and fills what is the same in nearly
// all of them: they judge a client, on every transport.
func Clients(lists ...[]Check) []Check { return join(wire.Client, lists) }

// WholeSessions marks judges that read a session from its opening on.
func WholeSessions(lists ...[]Check) []Check {
	all := slices.Concat(lists...)
	for i := range all {
		all[i].Whole = true
	}
	return all
}

func join(of wire.Role, lists [][]Check) []Check {
	all := slices.Concat(lists...)
	for i := range all {
		all[i].Of = of
		if all[i].On == 0 {
			all[i].On = transport.Any
		}
	}
	return all
}

// Advised returns a check for the revisions in which its rule is a SHOULD, with the id
// "ID.advised".
func Advised(c Check, in spec.Set) Check {
	c.ID, c.Level, c.In = c.ID+".advised", spec.Should, in
	return c
}

// A ClientCopy names a judge of servers whose rule also binds clients.
type ClientCopy struct {
	ID   string   // of the judge of servers
	In   spec.Set // revisions that bind clients to the rule
	Says string   // the text for clients; "" to use the text of the judge
	Hint string   // what makes a client show it
}

// CopyForClients returns the judges of clients for judges of servers, each with the id
// "AREA.client.REST" for AREA.REST. An id that is not in the list panics.
func CopyForClients(judges []Check, copies []ClientCopy) []Check {
	var out []Check
	for _, of := range copies {
		at := slices.IndexFunc(judges, func(c Check) bool { return c.ID == of.ID })
		c := judges[at]
		area, rest, _ := strings.Cut(c.ID, ".")
		c.ID, c.In, c.Hint = area+".client."+rest, of.In, of.Hint
		if of.Says != "" {
			c.Says = of.Says
		}
		out = append(out, c)
	}
	return out
}
