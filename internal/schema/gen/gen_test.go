package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestCommittedSchemasAreGenerated(t *testing.T) {
	schemas, err := generate(messages)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "..", "..", "fixtures", "schema")
	for _, rev := range spec.Revisions() {
		committed, err := os.ReadFile(filepath.Join(folder, string(rev)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(committed, schemas[rev]) {
			t.Errorf("fixtures/schema/%s.json is not what messages.yaml makes: run go generate ./internal/schema", rev)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(spec.Revisions()) {
		t.Errorf("%d files in fixtures/schema (%v), want one a revision", len(files), err)
	}
	again, err := generate(messages)
	if err != nil {
		t.Fatal(err)
	}
	for rev := range schemas {
		if !bytes.Equal(schemas[rev], again[rev]) {
			t.Errorf("%s: two runs, two texts", rev)
		}
	}
}

// A definition that starts with an underscore and has no reference is dead.
func TestEveryHelperDefinitionIsUsed(t *testing.T) {
	src, err := readSource(messages)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range src.defs {
		if d.named == 0 && strings.Count(string(messages), d.name) < 2 {
			t.Errorf("%s is not used", d.name)
		}
	}
}

func TestMarksLimitDefinitionsMembersAndBranches(t *testing.T) {
	const source = `
definitions:
  Old until 2025-03-26: string
  Base named since 2025-06-18:
    kept: string
    gone? until 2025-03-26: boolean
  Thing:
    $extends: Base, Later since 2026-07-28
    either?: =a | =b since 2025-11-25
    list since 2025-06-18 until 2025-11-25: Base[..3]
  Later since 2026-07-28:
    kept: integer<0..>
methods:
  do/it until 2025-11-25: client Thing -> Base since 2025-06-18 | Old until 2025-03-26
`
	schemas, err := generate([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[spec.Revision][]string{
		spec.V2024_11_05: {
			`"do/it":{"from":"client","request":"Thing","results":["Old"]}`,
			`"Old":{"type":"string"}`,
			`"Thing":{"type":"object","properties":{"kept":{"type":"string"},"gone":{"type":"boolean"},"either":` +
				`{"const":"a"}},"required":["kept"]}`,
		},
		spec.V2025_11_25: {
			`"do/it":{"from":"client","request":"Thing","results":["Base"]}`,
			`"Base":{"type":"object","properties":{"kept":{"type":"string"}},"required":["kept"]}`,
			`"Thing":{"type":"object","properties":{"kept":{"type":"string"},"either":{"enum":["a","b"]},"list":` +
				`{"type":"array","items":{"$ref":"#/$defs/Base"},"maxItems":3}},"required":["kept","list"]}`,
		},
		spec.V2026_07_28: {
			`"Base":{"type":"object","properties":{"kept":{"type":"string"}},"required":["kept"]}`,
			`"Later":{"type":"object","properties":{"kept":{"type":"integer","minimum":0}},"required":["kept"]}`,
			`"Thing":{"type":"object","properties":{"kept":{"type":"integer","minimum":0},"either":{"enum":["a",` +
				`"b"]}},"required":["kept"]}`,
		},
	} {
		var got []string
		for _, line := range strings.Split(string(schemas[rev]), "\n") {
			if line = strings.TrimSuffix(line, ","); strings.HasPrefix(line, `"`) && !strings.HasPrefix(line, `"$`) &&
				!strings.HasPrefix(line, `"x-`) {
				got = append(got, line)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n got %s\nwant %s", rev, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

func TestReportsErrorsOfSource(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"definitions:\n  A: B", "B is not defined"},
		{"definitions:\n  A: string\n  A since 2025-06-18: number", "2025-06-18: two definitions of A"},
		{"definitions:\n  A: strin", `unknown type "strin"`},
		{"definitions:\n  A since 2025-01-01: string", "unknown protocol revision"},
		{"definitions:\n  A since 2026-07-28 until 2025-03-26: string", "leave no revision"},
		{"definitions:\n  A after 2025-03-26: string", `unknown mark "after"`},
		{"definitions:\n  A:\n    m: string\n    m? since 2025-06-18: number", "member m is defined twice"},
		{"definitions:\n  A:\n    $extends: B\n  B: string", "$extends B, which is not an object"},
		{"definitions:\n  A:\n    m: B\n  B since 2025-06-18: string",
			"2024-11-05: definition A: member m: B is not defined"},
		{"definitions:\n  A: =a | string", "a union of literals and other types"},
		{"definitions:\n  A: string since 2025-06-18 | number since 2025-06-18",
			"no branch of a union is of this revision"},
		{"definitions:\n  A: string\nmethods:\n  m: client A -> B", "method m: B is not defined"},
		{"definitions:\n  A: string\nmethods:\n  m: A", "want SENDER MESSAGE"},
		{"definitions:\n  A: string\nmethods:\n  m: nobody A", `unknown sender "nobody"`},
		{"definitions:\n  A: string\nmethods:\n  m: client A\n  m since 2025-06-18: both A", "two descriptions"},
		{"definitions:\n  A: string[", "unknown type"},
	} {
		source, want := c.source, c.want
		if _, err := generate([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got error %v\nwant %s", source, err, want)
		}
	}
}
