package fuzz

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

const toolWithoutAnnotations = `{"name":"act","inputSchema":{"type":"object"}}`

func TestDiscoveryWithholdsToolsWithoutAnnotations(t *testing.T) {
	o := testOptions().Session
	x := newExecutor(minimalServer(toolWithoutAnnotations), o, o.Timeout)
	offer, err := discover(t.Context(), x, spec.V2025_06_18, func(string) bool { return false })
	if err != nil || !offer.spoken {
		t.Fatalf("%+v, %v", offer, err)
	}
	if len(offer.frames) != 0 || !slices.Equal(offer.withheld, []string{"act"}) {
		t.Errorf("frames %v, withheld %v", offer.frames, offer.withheld)
	}
}

func TestRunFailsWithoutSupportedRevision(t *testing.T) {
	dead := transport.InProcess{Name: "dead", Serve: func(context.Context, io.Reader, io.Writer) error { return nil }}
	o := testOptions()
	o.Runs = 10
	if r, err := Run(t.Context(), dead, o); err == nil || r.Stats.Plans != 0 {
		t.Errorf("%d plans, error %v", r.Stats.Plans, err)
	}
	o.Revisions = []spec.Revision{spec.V2024_11_05}
	r, err := Run(t.Context(), minimalServer(toolWithoutAnnotations), o)
	if !errors.Is(err, errNoRevision) || len(r.Revisions) != 1 {
		t.Fatalf("%+v, %v", r.Revisions, err)
	}
	if run := r.Revisions[0]; run.Spoken || !strings.Contains(run.Why, "another revision") {
		t.Errorf("%+v", run)
	}
}
