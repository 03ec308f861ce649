package session

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A peer that stays after the end of its input is given the whole grace, one
// that still owes an answer a part of it.
func TestABusyPeerIsNotGivenTheWholeGrace(t *testing.T) {
	stays := transport.InProcess{Name: "stays", Serve: func(ctx context.Context, in io.Reader, _ io.Writer) error {
		_, _ = io.Copy(io.Discard, in)
		<-ctx.Done()
		return nil
	}}
	o := Defaults()
	o.Grace = 400 * time.Millisecond
	for _, busy := range []bool{false, true} {
		c, err := connect(t.Context(), stays, o)
		if err != nil {
			t.Fatal(err)
		}
		s := c.use(spec.V2025_06_18, nil)
		if busy {
			if _, err := s.Start(t.Context(), "ping", nil); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		s.Close()
		if took := time.Since(began); busy != (took < o.Grace) {
			t.Errorf("busy %v: the end took %s of a grace of %s", busy, took, o.Grace)
		}
	}
}
