package selftest

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// BenchmarkCell is the cost of one cell of the matrix over each transport: all
// checks of a revision on a server in this process.
func BenchmarkCell(b *testing.B) {
	for _, c := range []struct {
		over transport.Kind
		rev  spec.Revision
	}{
		{transport.Stdio, spec.V2025_11_25}, {transport.HTTP, spec.V2025_11_25},
		{transport.Stdio, spec.V2026_07_28}, {transport.HTTP, spec.V2026_07_28},
		{transport.Stdio, spec.V2024_11_05}, {transport.SSE, spec.V2024_11_05},
	} {
		b.Run(string(c.rev)+" over "+string(c.over), func(b *testing.B) {
			for b.Loop() {
				if _, err := judge(b.Context(), target{over: c.over, o: server.Options{Pace: pace}}, []spec.Revision{c.rev}, "", nil, beside()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
