package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func BenchmarkCompile(b *testing.B) {
	for _, rev := range spec.Revisions() {
		b.Run(string(rev), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compile(rev, fixtures.Schema(rev)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// toolsList is the tool list of an ordinary server with a dozen tools.
var toolsList = []byte(`{"tools":[` +
	strings.Repeat(
		`{"name":"read_file","title":"Read a file","description":"Reads a file of the project and returns its text,`+
			` cut where it is long.","inputSchema":{"type":"object","properties":{"path":{"type":"string",`+
			`"description":`+
			`"relative to the root"},"lines":{"type":"integer","minimum":1}},"required":["path"]},"annotations":`+
			`{"readOnlyHint":true}},`, 11) +
	`{"name":"last","inputSchema":{"type":"object"}}]}`)

func BenchmarkValidateToolsList(b *testing.B) {
	set := For(spec.V2025_06_18)
	b.ReportAllocs()
	b.SetBytes(int64(len(toolsList)))
	for b.Loop() {
		if broken := set.Validate("ListToolsResult", toolsList); len(broken) > 0 {
			b.Fatal(broken)
		}
	}
}

func BenchmarkValidateCallResult(b *testing.B) {
	set, in := For(spec.V2025_06_18), []byte(
		`{"content":[{"type":"text","text":"done"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"isError":`+
			`false}`)
	b.ReportAllocs()
	for b.Loop() {
		if broken := set.Validate("CallToolResult", in); len(broken) > 0 {
			b.Fatal(broken)
		}
	}
}

func BenchmarkCompileTool(b *testing.B) {
	in := []byte(
		`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer","minimum":1}},"required":` +
			`["path"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CompileTool(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInstance(b *testing.B) {
	for _, def := range []string{"CallToolRequest", "CallToolResult"} {
		b.Run(fmt.Sprint(def), func(b *testing.B) {
			set, src := For(spec.V2025_11_25), seeded(1)
			b.ReportAllocs()
			for b.Loop() {
				set.instance(src, def)
			}
		})
	}
}

// BenchmarkArguments measures the arguments of one ordinary tool on average.
func BenchmarkArguments(b *testing.B) {
	tools := ordinaryTools(b)
	generators := make([]*Generator, len(tools))
	for i, tool := range tools {
		g, err := NewGenerator([]byte(tool.Get("inputSchema").Raw))
		if err != nil {
			b.Fatal(err)
		}
		generators[i] = g
	}
	each := func(b *testing.B, f func(i int) error) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := f(n % len(tools)); err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.Run("generator", func(b *testing.B) {
		each(b, func(i int) error {
			_, err := NewGenerator([]byte(tools[i].Get("inputSchema").Raw))
			return err
		})
	})
	b.Run("valid", func(b *testing.B) {
		each(b, func(i int) error {
			_, err := generators[i].Valid(seeded(1), RequiredOnly)
			return err
		})
	})
	b.Run("valid in full", func(b *testing.B) {
		each(b, func(i int) error {
			_, err := generators[i].Valid(seeded(1), AllMembers)
			return err
		})
	})
	b.Run("invalid", func(b *testing.B) {
		each(b, func(i int) error {
			_, err := generators[i].Invalid(seeded(1), 100)
			return err
		})
	})
}
