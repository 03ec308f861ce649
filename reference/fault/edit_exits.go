package fault

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// exitsOn is the fault of a server that exits on every request of a method.
func exitsOn(method, caughtBy string) Fault {
	return newFault("exits-on-"+strings.ToLower(strings.ReplaceAll(method, "/", "-")), "exits on "+method, caughtBy,
		exitOn(isMessage(wire.Request, method), "it exits on "+method))
}
