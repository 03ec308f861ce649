package fault

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// exitsOn is the fault of a server that exits on every request of a method.
func exitsOn(method, caughtBy string) Fault {
	return newFault("exits-on-"+dashed(method), "exits on "+method, caughtBy,
		exitOn(isMessage(wire.Request, method), "it exits on "+method))
}

// hangsOn is the fault of a server that runs and answers nothing since a request of a
// method. It deviates at one revision, since each run of it waits several times.
func hangsOn(method, caughtBy string) Fault {
	return atOneRevision(newFault("hangs-on-"+dashed(method), "answers nothing since "+method, caughtBy,
		stopReadingAt(isMessage(wire.Request, method))))
}

// silentOn is the fault of a server that does not answer the requests of a method. It
// deviates at one revision, as hangsOn.
func silentOn(method, caughtBy string) Fault {
	return atOneRevision(newFault("silent-on-"+dashed(method), "does not answer "+method, caughtBy,
		ignoreLines(isMessage(wire.Request, method))))
}

// atOneRevision returns the fault at the only revision that has all methods.
func atOneRevision(f Fault) Fault {
	f.In = spec.Only(spec.V2025_11_25)
	return f
}

// dashed returns a method as a part of a name.
func dashed(method string) string { return strings.ToLower(strings.ReplaceAll(method, "/", "-")) }
