package selftest

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// BenchmarkCell measures one cell of the matrix over each transport: all checks of a
// revision on a server in this process.
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
			s := subject{over: c.over, options: server.Options{StepDelay: pace}}
			for b.Loop() {
				o := engine.Options{Revisions: []spec.Revision{c.rev}, Session: shortDeadlines()}
				if _, err := s.judge(b.Context(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
