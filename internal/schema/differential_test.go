package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// schemaDir returns the folder of the official schemas. It skips the test if there
// is none.
func schemaDir(t *testing.T) string {
	dir := os.Getenv("MCPCHECK_SCHEMA_DIR")
	if dir == "" {
		t.Skip("MCPCHECK_SCHEMA_DIR is not set: the schemas are not compared with the official ones")
	}
	return dir
}

// The generated and the official schemas give every instance the same verdict,
// except for listed reasons: patches of the official schema, with which they agree.
func TestSchemasAgreeWithOfficialSchemas(t *testing.T) {
	dir := schemaDir(t)
	for _, rev := range spec.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			d := newDifferential(t, rev, fixtures.Schema(rev),
				readJSON(t, filepath.Join(dir, string(rev), "schema.json")), listed)
			for _, name := range d.official.names {
				if d.ours.defs[name] == nil {
					t.Errorf("the official definition %s is missing in the generated schema", name)
				}
			}
			for _, name := range d.ours.definitions() {
				if !slices.Contains(d.official.names, name) {
					t.Errorf("the generated definition %s is not an official one", name)
				}
			}
			examples := d.tryExamples(t, filepath.Join(dir, string(rev), "examples"))
			goldens := d.tryGoldens(t)
			d.tryGenerated(4, d.ours.definitions()...)
			for _, f := range d.failures {
				t.Error(f)
			}
			for _, r := range listed {
				if r.in.Has(rev) && d.byReason[r.name()] == 0 {
					t.Errorf("listed reason %s explains no difference", r.name())
				}
			}
			if d.instances < 2000 {
				t.Errorf("only %d instances", d.instances)
			}
			t.Logf("%d definitions, %d distinct instances (%d official examples, %d golden messages), %d verdicts "+
				"(%d valid): %d alike, %d by a listed reason",
				len(d.official.names), d.instances, examples, goldens, d.verdicts, d.valid, d.alike,
				d.verdicts-d.alike-len(d.failures))
			for _, name := range slices.Sorted(maps.Keys(d.byReason)) {
				t.Logf("%6d  %s", d.byReason[name], name)
			}
		})
	}
}

// The interpreter is also compared with the general engine on the generated schemas,
// without the official ones.
func TestInterpreterAgreesWithGeneralEngine(t *testing.T) {
	for _, rev := range spec.Revisions() {
		d := newDifferential(t, rev, fixtures.Schema(rev), decode(t, fixtures.Schema(rev)), nil)
		d.other = d.ours // it has no other instances
		d.tryGenerated(1, d.ours.definitions()...)
		for _, f := range d.failures {
			t.Errorf("%s: %s", rev, f)
		}
		if d.instances < 2000 || d.valid == 0 || d.valid == d.verdicts {
			t.Errorf("%s: %d instances, %d of %d verdicts valid", rev, d.instances, d.valid, d.verdicts)
		}
	}
}

// The differential must find a schema that is wrong in one keyword.
func TestDifferentialFindsSeededErrors(t *testing.T) {
	const rev = spec.V2025_06_18
	right := string(fixtures.Schema(rev))
	for _, c := range []struct{ def, from, to string }{
		{"Tool", `"required":["name","inputSchema"]`, `"required":["name"]`},
		{"Tool", `"description":{"type":"string"}`, `"description":{}`},
		{"Role", `["user","assistant"]`, `["user","assistant","system"]`},
		{"Annotations", `"maximum":1`, `"maximum":2`},
		{"Annotations", `"minimum":0,`, ``},
		{"ImageContent", `"const":"image"`, `"const":"picture"`},
		{"ContentBlock", `,{"$ref":"#/$defs/ResourceLink"}`, ``},
		{"ListToolsResult", `"items":{"$ref":"#/$defs/Tool"}`, `"items":{}`},
		{"InitializeResult", `"instructions":{"type":"string"}`, `"instructions":{"type":["string","null"]}`},
		{"GetPromptRequest", `"additionalProperties":{"type":"string"}`, `"additionalProperties":{}`},
		{"RequestId", `"integer"`, `"number"`},
		{"LoggingLevel", `,"alert"`, ``},
		{"StringSchema", `"date-time"`, `"time"`},
	} {
		start := strings.Index(right, "\n\""+c.def+"\":")
		end := start + 1 + strings.Index(right[start+1:], "\n")
		line := right[start:end]
		if !strings.Contains(line, c.from) {
			t.Fatalf("%s holds no %s", c.def, c.from)
		}
		wrong := right[:start] + strings.Replace(line, c.from, c.to, 1) + right[end:]
		d := newDifferential(t, rev, []byte(wrong), decode(t, []byte(right)), nil)
		d.tryGenerated(3, c.def)
		if !slices.ContainsFunc(d.failures, func(f string) bool { return strings.HasPrefix(f, c.def+" ") }) {
			t.Errorf("%s with %s instead of %s: not found in %d verdicts", c.def, c.to, c.from, d.verdicts)
		}
	}
}

// A differential validates instances with the generated schema and with another one.
type differential struct {
	rev                               spec.Revision
	ours                              *Set
	official                          *engine         // as published
	patched                           *engine         // with every listed reason
	each                              map[int]*engine // by index in reasons, with that reason only
	other                             *Set            // the published schema, to make instances
	document                          func() any      // a fresh copy of the published schema
	reasons                           []reason        // of this revision
	seen                              map[string]bool // definition and instance
	byReason                          map[string]int  // verdicts
	failures                          []string        // verdicts that differ without a listed reason
	literals                          []string        // of both schemas
	texts                             map[string]bool // distinct instances
	instances, verdicts, alike, valid int
}

func newDifferential(t *testing.T, rev spec.Revision, ours []byte, official any, reasons []reason) *differential {
	t.Helper()
	set, err := compile(rev, ours)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(official)
	if err != nil {
		t.Fatal(err)
	}
	d := &differential{rev: rev, ours: set, each: map[int]*engine{}, seen: map[string]bool{},
		byReason: map[string]int{}, texts: map[string]bool{}}
	d.literals = literalsOf([]any{decode(t, ours), official})
	d.document = func() any { return decode(t, text) }
	for _, r := range reasons {
		if r.in.Has(rev) {
			d.reasons = append(d.reasons, r)
		}
	}
	d.official = newEngine(t, d.document())
	d.patched = newEngine(t, patch(t, d.document(), d.reasons...))
	for i, r := range d.reasons {
		d.each[i] = newEngine(t, patch(t, d.document(), r))
	}
	if d.other, err = compile(rev, simplify(t, d.document())); err != nil {
		t.Fatal(err)
	}
	return d
}

// try compares the verdicts on one instance of a definition.
func (d *differential) try(def string, instance any) {
	text, err := json.Marshal(instance)
	if err != nil {
		panic(err)
	}
	key := def + " " + string(text)
	if d.seen[key] {
		return
	}
	d.seen[key] = true
	if !d.texts[string(text)] {
		d.texts[string(text)] = true
		d.instances++
	}
	d.verdicts++
	broken := d.ours.Validate(def, text)
	ours := len(broken) == 0
	if ours {
		d.valid++
	}
	if d.official.valid(def, instance) == ours {
		d.alike++
		return
	}
	if d.patched.valid(def, instance) != ours {
		if len(d.failures) < 20 || !slices.ContainsFunc(d.failures,
			func(f string) bool { return strings.HasPrefix(f, def+" ") }) {
			d.failures = append(d.failures, fmt.Sprintf("%s %s: ours: %v, official: valid %v", def,
				wire.Clip(string(text), 400), broken, !ours))
		}
		return
	}
	name := "several reasons together"
	for i, r := range d.reasons {
		if d.each[i].valid(def, instance) == ours {
			name = r.name()
			break
		}
	}
	d.byReason[name]++
}

// tryGenerated makes instances of the definitions by both schemas, and mutates
// them: a full instance of each definition, and of each branch of a union, in every
// way, n others in a few.
func (d *differential) tryGenerated(n int, defs ...string) {
	src := seeded(11)
	for _, def := range defs {
		for _, set := range slices.Compact([]*Set{d.ours, d.other}) {
			if !set.Has(def) || !d.official.has(def) {
				continue
			}
			branches, levels := len(set.defs[def].target().anyOf), 2
			if branches == 0 {
				branches, levels = 1, 3
			}
			for branch := range branches {
				full := value(set.instance(&fullest{branch: branch}, def))
				d.try(def, full)
				for _, m := range mutants(full, levels, d.literals) {
					d.try(def, m)
				}
			}
			for range n {
				in := value(set.instance(src, def))
				d.try(def, in)
				ms := mutants(in, 9, d.literals)
				for range min(6, len(ms)) {
					d.try(def, ms[src.IntN(len(ms))])
				}
				// The schemas must also agree on instances of other definitions.
				if other := defs[src.IntN(len(defs))]; d.official.has(other) {
					d.try(other, in)
				}
			}
		}
	}
}

// tryExamples tries the official examples, and mutations of each.
func (d *differential) tryExamples(t *testing.T, dir string) (n int) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		def := filepath.Base(filepath.Dir(file))
		in := readJSON(t, file)
		text, _ := json.Marshal(in)
		if broken := d.ours.Validate(def, text); len(broken) > 0 {
			t.Errorf("the official example %s: %v", filepath.Base(file), broken)
		}
		d.try(def, in)
		d.trySomeMutants(def, in)
		n++
	}
	return n
}

// tryGoldens tries the messages of the golden exchanges, and mutations of each.
func (d *differential) tryGoldens(t *testing.T) (n int) {
	for _, g := range goldenParts(t, d.ours) {
		if d.official.has(g.def) {
			n++
			in := value([]byte(g.part))
			d.try(g.def, in)
			d.trySomeMutants(g.def, in)
		}
	}
	return n
}

// A golden is a message of a golden exchange: a whole request, notification or
// error, or the result of a response.
type golden struct{ file, def, part string }

func goldenParts(t *testing.T, set *Set) (out []golden) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "golden", string(set.rev), "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		frames, _, err := wire.ParseFrames(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		asked := map[string]string{} // the method, by the receiver and the id
		for _, f := range frames {
			for _, m := range f.Message().Elements() {
				def, part := "JSONRPCMessage", m.Value()
				switch m.Kind {
				case wire.Request:
					asked[string(f.From.Peer())+m.ID().Key()] = m.Method()
					def = set.Request(m.Method())
				case wire.Notification:
					def = set.Notification(m.Method())
				case wire.Result:
					part = m.Result()
					def = set.ResultOf(asked[string(f.From)+m.ID().Key()], []byte(part.Raw))
				}
				if def != "" {
					out = append(out, golden{filepath.Base(file), def, part.Raw})
				}
			}
		}
	}
	return out
}

func TestGoldensFitTheirDefinitions(t *testing.T) {
	n := 0
	for _, rev := range spec.Revisions() {
		for _, g := range goldenParts(t, For(rev)) {
			n++
			if broken := For(rev).Validate(g.def, []byte(g.part)); len(broken) > 0 {
				t.Errorf("%s %s: %s: %v", rev, g.file, g.part, broken)
			}
		}
	}
	if n == 0 {
		t.Error("fixtures/golden holds no exchange")
	}
}

// trySomeMutants tries some mutations at all places of an instance.
func (d *differential) trySomeMutants(def string, in any) {
	ms := mutants(in, 9, d.literals)
	for i := 0; i < len(ms); i += 1 + len(ms)/40 {
		d.try(def, ms[i])
	}
}
