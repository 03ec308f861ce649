package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestAcceptsBase64WithoutPadding(t *testing.T) {
	for text, want := range map[string][2]bool{ // padded, decodes
		"":               {true, true},
		"aGk=":           {true, true},
		"aGk":            {false, true},
		"aGkg\r\naGk=\n": {true, true},
		"-_8=":           {false, false},
		"a":              {false, false},
		"aGk=x":          {false, false},
		"data:,x":        {false, false},
	} {
		padded, ok := format.IsBase64(text)
		if ok != want[1] || ok && padded != want[0] {
			t.Errorf("%q: padded %v, base64 %v", text, padded, ok)
		}
	}
}

func TestAcceptsISO8601FormsOnly(t *testing.T) {
	for text, want := range map[string]bool{
		"2025-01-12T15:00:58Z":          true,
		"2025-01-12T15:00:58.123+02:00": true,
		"2025-01-12T15:00:58,5+02":      true,
		"2025-01-12T15:00Z":             true,
		"2025-01-12 15:00:58+00:00":     true,
		"2025-01-12":                    true,
		"2025-01":                       true,
		"2025":                          true,
		"20250112T150058Z":              true,
		"2025-W03-7":                    true,
		"2025-012":                      true,
		"2016-12-31T23:59:60Z":          true,
		"2025-13-01":                    false,
		"2025-01-12T25:00:00Z":          false,
		"12.01.2025":                    false,
		"Sun, 12 Jan 2025 15:00:58 GMT": false,
		"1736694058":                    false,
		"":                              false,
	} {
		if got := iso8601.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestDetectsPrefixesThatAreNotReversed(t *testing.T) {
	for key, want := range map[string]bool{
		"com.example/a": false, "io.github.someone/a": false, "ai.x/a": false, "dev/a": false,
		"app.acme.com/a": false, // app is a top-level domain too
		"acme.widget/a":  false, // neither label is a known top-level domain
		"example.com/a":  true, "acme.io/a": true, "acme/a": true,
	} {
		if got := isNotReversed(parseMetaKey(key).labels); got != want {
			t.Errorf("%s: %v", key, got)
		}
	}
}

func TestTraceContextFormats(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		name     string
		isFormat func(string) bool
		valid    []string
		invalid  []string
	}{
		{"traceparent", isTraceparent,
			[]string{parent, "cc" + parent[2:] + "-what-the-future-brings", "01" + parent[2:]},
			[]string{
				"", "ff" + parent[2:], parent + "-x", parent[:54],
				"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
				"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
				"00-00000000000000000000000000000000-b7ad6b7169203331-01",
			}},
		{"tracestate", isTracestate,
			[]string{"", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "tenant@system=1 , a=b c", "a=1,,b=2",
				strings.Repeat("a=1,", 31) + "a=1"},
			[]string{"a", "A=1", "a=", "a=b=c", "a=\u00fc", strings.Repeat("a=1,", 32) + "a=1"}},
		{"baggage", isBaggage,
			[]string{"userId=alice", "a=1;p;q=2, b = 2 ; r", "a=", "k=Am%C3%A9lie"},
			[]string{"", "a", "a b=1", "a=b c", `a="b"`, "a=1,"}},
	} {
		for _, v := range c.valid {
			if !c.isFormat(v) {
				t.Errorf("%s %q is refused", c.name, v)
			}
		}
		for _, v := range c.invalid {
			if c.isFormat(v) {
				t.Errorf("%s %q is accepted", c.name, v)
			}
		}
	}
}

func TestContentTypesOfFactsMatchSchema(t *testing.T) {
	for _, rev := range spec.Revisions() {
		set, facts := schema.For(rev), rev.Facts()
		for _, kind := range []string{
			"text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result",
		} {
			block := `{"type":"` + kind + `"}`
			isWrongType := func(v schema.Violation) bool { return v.Keyword == "enum" || v.Keyword == "const" }
			known := func(def, instance string) bool {
				return !slices.ContainsFunc(set.Validate(def, []byte(instance)), isWrongType)
			}
			message := `{"role":"user","content":` + block + `}`
			if got := known("PromptMessage", message); got != slices.Contains(facts.ContentTypes, kind) {
				t.Errorf("%s: content of type %s: the schema says %v", rev, kind, got)
			}
			if got := known("SamplingMessage", message); got != slices.Contains(facts.SamplingContentTypes, kind) {
				t.Errorf("%s: sampling content of type %s: the schema says %v", rev, kind, got)
			}
		}
	}
}
