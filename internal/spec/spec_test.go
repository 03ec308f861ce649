package spec

import (
	"slices"
	"strings"
	"testing"
)

func TestSets(t *testing.T) {
	for _, c := range []struct {
		set  Set
		want []Revision
	}{
		{Every, Revisions()},
		{Since(V2025_11_25), []Revision{V2025_11_25, V2026_07_28}},
		{Until(V2025_03_26), []Revision{V2024_11_05, V2025_03_26}},
		{Between(V2025_03_26, V2025_11_25), []Revision{V2025_03_26, V2025_06_18, V2025_11_25}},
		{Only(V2024_11_05, V2026_07_28), []Revision{V2024_11_05, V2026_07_28}},
		{Handshake, []Revision{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25}},
		{Stateless, []Revision{V2026_07_28}},
	} {
		if got := c.set.Revisions(); !slices.Equal(got, c.want) {
			t.Errorf("%08b contains %v, want %v", c.set, got, c.want)
		}
		for _, r := range Revisions() {
			if c.set.Has(r) != slices.Contains(c.want, r) {
				t.Errorf("%v.Has(%s) = %v", c.set, r, c.set.Has(r))
			}
		}
	}
	if Every.Has("2025-01-01") {
		t.Error("a revision that was never published is in Every")
	}
}

func TestParseRevision(t *testing.T) {
	if _, err := ParseRevision("2025-13-01"); err == nil || !strings.Contains(err.Error(), `"2025-13-01"`) {
		t.Errorf("error %v does not name the revision", err)
	}
	for _, r := range Revisions() {
		if got, err := ParseRevision(string(r)); err != nil || got != r {
			t.Errorf("ParseRevision(%s) = %s, %v", r, got, err)
		}
	}
}

// Every check reads the facts, so this test pins the ones that decide verdicts to
// the text of the revisions.
func TestFacts(t *testing.T) {
	for _, r := range Revisions() {
		f := r.Facts()
		if f.Stateless != Stateless.Has(r) {
			t.Errorf("%s: stateless = %v", r, f.Stateless)
		}
		if f.Batches != (r == V2025_03_26) {
			t.Errorf("%s: batches = %v", r, f.Batches)
		}
		if got, want := slices.Contains(f.ContentTypes, "audio"), r != V2024_11_05; got != want {
			t.Errorf("%s: audio content = %v", r, got)
		}
		if got, want := slices.Contains(f.ContentTypes, "resource_link"), Since(V2025_06_18).Has(r); got != want {
			t.Errorf("%s: resource links = %v", r, got)
		}
		if got, want := slices.Contains(f.SamplingContentTypes, "tool_result"), Since(V2025_11_25).Has(r); got != want {
			t.Errorf("%s: tool results in sampling = %v", r, got)
		}
		if slices.Contains(f.SamplingContentTypes, "resource") {
			t.Errorf("%s: embedded resources in sampling", r)
		}
		want := Between(V2025_06_18, V2025_11_25).Has(r)
		if got := slices.Contains(f.ServerRequests, "elicitation/create"); got != want {
			t.Errorf("%s: elicitation request = %v", r, got)
		}
		if slices.Contains(f.ClientRequests, "initialize") == f.Stateless {
			t.Errorf("%s: initialize among the requests of the client", r)
		}
	}
}
