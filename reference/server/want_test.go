package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// errorCode requires an error and returns its code.
func errorCode(t *testing.T, m wire.Message) int {
	t.Helper()
	c, ok := m.ErrorCode()
	if !ok {
		t.Fatalf("received %s, want an error", m.Raw)
	}
	return c
}

func wantCode(t *testing.T, m wire.Message, want int) {
	t.Helper()
	if got := errorCode(t, m); got != want {
		t.Errorf("error code %d, want %d: %s", got, want, m.Raw)
	}
}

func wantResult(t *testing.T, m wire.Message) wire.Message {
	t.Helper()
	if m.Kind != wire.Result {
		t.Fatalf("received %s, want a result", m.Raw)
	}
	return m
}

// wantToolError requires a tool result that reports an error.
func wantToolError(t *testing.T, m wire.Message) {
	t.Helper()
	if !wantResult(t, m).Result().Get("isError").Bool() {
		t.Errorf("isError is not set: %s", m.Raw)
	}
}

// wantToolSuccess requires a complete tool result that reports no error.
func wantToolSuccess(t *testing.T, m wire.Message) {
	t.Helper()
	r := wantResult(t, m).Result()
	if resultType := r.Get("resultType"); resultType.Exists() && resultType.String() != "complete" {
		t.Errorf("the result is not complete: %s", m.Raw)
	}
	if r.Get("isError").Bool() {
		t.Errorf("isError is set: %s", m.Raw)
	}
}

// wantInputRequired requires an input_required result and returns it.
func wantInputRequired(t *testing.T, m wire.Message) gjson.Result {
	t.Helper()
	r := wantResult(t, m).Result()
	if got := memberNames(t, r.Raw); got != "_meta inputRequests requestState resultType" ||
		r.Get("resultType").String() != "input_required" {
		t.Errorf("the result asks for no input: %s", m.Raw)
	}
	return r
}

// wantRequired requires the error for a client that lacks these capabilities.
func wantRequired(t *testing.T, m wire.Message, capabilities string) {
	t.Helper()
	wantCode(t, m, spec.MissingClientCapability)
	if got := m.Error().Get("data.requiredCapabilities").Raw; got != capabilities {
		t.Errorf("the required capabilities are %s, want %s", got, capabilities)
	}
}

// wantSameJSON compares JSON texts by value.
func wantSameJSON(t *testing.T, got, want string) {
	t.Helper()
	a, errA := decode(got)
	b, errB := decode(want)
	if errA != nil || errB != nil {
		t.Fatalf("not JSON: %v, %v: %s", errA, errB, got)
	}
	if string(wire.Encode(a)) != string(wire.Encode(b)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func unmarshal(t *testing.T, raw string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// eachRevision runs a test in parallel for each revision of a set.
func eachRevision(t *testing.T, set spec.Set, f func(t *testing.T, rev spec.Revision)) {
	for _, rev := range set.Revisions() {
		t.Run(string(rev), func(t *testing.T) { t.Parallel(); f(t, rev) })
	}
}

// memberNames returns the member names of an object, sorted and joined.
func memberNames(t *testing.T, raw string) string {
	t.Helper()
	return strings.Join(slices.Sorted(maps.Keys(unmarshal(t, raw))), " ")
}

// wantText requires a complete result with a text.
func wantText(t *testing.T, m wire.Message, text string) {
	t.Helper()
	if o := wantResult(t, m).Result(); o.Get("resultType").String() != "complete" ||
		o.Get("content.0.text").String() != text {
		t.Errorf("the answer is %s, want the text %q", m.Raw, text)
	}
}
