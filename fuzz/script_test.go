package fuzz

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestScriptAssignsIDsAndSplitsWrites(t *testing.T) {
	c := newCorpus(spec.V2025_11_25, offering{})
	p := Plan{Rev: c.rev, Steps: []Step{
		{Frame: "tools-call#3"},
		{Frame: "notifications-cancelled#4"},
		{Frame: "tools-list.string-id#3", ByteEdits: []Edit{{Op: opJoin}}},
		{Frame: "malformed/duplicate-id"},
	}}
	lines := c.script(p, 40).messages()
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	if id := lines[0].ID().Raw; id != "41" {
		t.Errorf("the first id is %s", id)
	}
	if id := lines[1].Params().Get("requestId").Raw; id != "41" {
		t.Errorf("the cancelled request is %s", id)
	}
	for _, want := range []string{`"id":"desk-43/α"`, `}{"jsonrpc":"2.0","id":10004471,"id":10004472`} {
		if joined := string(lines[2].Raw); !strings.Contains(joined, want) {
			t.Errorf("the joined line is %s, without %s", joined, want)
		}
	}
	whole := bytes.Join(c.script(p, 40).writes, nil)
	for _, positions := range [][]int{nil, {500}, {100, 100, 900}, {0, 999}} {
		split := p
		split.SplitAt = positions
		s := c.script(split, 40)
		if got := bytes.Join(s.writes, nil); !bytes.Equal(got, whole) || len(s.writes) > len(positions)+1 {
			t.Errorf("split at %v: %d writes", positions, len(s.writes))
		}
	}
	paced := p
	paced.Paced = true
	if s := c.script(paced, 40); len(s.writes) != 3 {
		t.Errorf("paced it is %d writes", len(s.writes))
	}
}
