package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// addFrames seeds a target with the frames of the malformed table and of the
// golden exchanges.
func addFrames(f *testing.F) {
	for _, bad := range fixtures.Malformed() {
		f.Add(bad.Bytes)
	}
	for _, rev := range spec.Revisions() {
		for _, e := range fixtures.Golden(rev) {
			for _, frame := range e.Frames {
				f.Add(frame.Raw)
			}
		}
	}
}

// FuzzParse compares the strict parser with encoding/json. Both accept the same texts and
// read the same values, except that the parser refuses bytes that are not UTF-8.
func FuzzParse(f *testing.F) {
	addFrames(f)
	for _, text := range []string{
		"\ufeff{}", "{\"a\":\"\xff\"}", `{"a":1,"\u0061":2}`, `[1,[{"b":{"c":1,"c":2}}]]`, `{"a":"\ud800"}`, `-0.0e+1`,
		`01`, "\x00", "[\v]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := wire.Parse(raw)
		if valid := utf8.Valid(raw) && json.Valid(raw); valid != (m.SyntaxError == nil) {
			t.Fatalf("valid JSON in UTF-8: %v, but the fault is %v", valid, m.SyntaxError)
		}
		if m.SyntaxError != nil {
			assertNoMessage(t, m)
			return
		}
		if pairs, want := len(m.DuplicateKeys), countDuplicates(t, raw); pairs != want {
			t.Errorf("%d duplicate members %q, want %d", pairs, m.DuplicateKeys, want)
		}
		assertSameValue(t, m)
		assertMembers(t, m)
		for _, element := range m.Elements() {
			assertMembers(t, element)
		}
	})
}

// assertNoMessage asserts that bytes that are not JSON have no member.
func assertNoMessage(t *testing.T, m wire.Message) {
	t.Helper()
	hasMembers := m.Value().Exists() || m.ID().IsPresent()
	if m.Kind != wire.Invalid || m.FormatError() == nil || hasMembers || m.IsIdentifiable() ||
		!m.ExceedsCommonLimits() {
		t.Errorf("bytes with the fault %v are a %v with id %s", m.SyntaxError, m.Kind, m.ID())
	}
}

// countDuplicates counts with encoding/json the members whose name an earlier
// member of the same object has.
func countDuplicates(t *testing.T, raw []byte) int {
	t.Helper()
	type container struct {
		names  map[string]bool // nil for an array
		atName bool
	}
	var open []*container
	count := 0
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 && open[len(open)-1].atName {
			if name, ok := token.(string); ok {
				top := open[len(open)-1]
				if top.names[name] {
					count++
				}
				top.names[name], top.atName = true, false
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &container{names: map[string]bool{}, atName: true})
			continue
		case json.Delim('['):
			open = append(open, &container{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 && open[len(open)-1].names != nil {
			open[len(open)-1].atName = true
		}
	}
}

// assertSameValue asserts that both parsers read the same value. It omits values that they
// may read differently: a duplicate member, half of a surrogate pair,
// and a number that no float64 holds.
func assertSameValue(t *testing.T, m wire.Message) {
	t.Helper()
	var want any
	hasSurrogate := bytes.Contains(bytes.ToLower(m.Raw), []byte(`\ud`))
	if len(m.DuplicateKeys) > 0 || hasSurrogate || json.Unmarshal(m.Raw, &want) != nil {
		return
	}
	if got := m.Value().Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("the value is %#v, want %#v", got, want)
	}
}

// assertMembers asserts that the accessors of a message are consistent.
func assertMembers(t *testing.T, m wire.Message) {
	t.Helper()
	if (m.Kind == wire.Request || m.Kind == wire.Result) && m.FormatError() == nil && !m.ID().IsPresent() {
		t.Errorf("a well-formed %v has no id", m.Kind)
	}
	if m.IsIdentifiable() && (m.FormatError() != nil || m.ExceedsCommonLimits()) {
		t.Errorf("a readable %v has the flaw %v, extreme %v", m.Kind, m.FormatError(), m.ExceedsCommonLimits())
	}
	if id := m.ID(); !id.Equal(id) || id.IsValid() && !id.IsPresent() || id.IsNull() && id.IsValid() {
		t.Errorf("id %s: usable %v, null %v", id, id.IsValid(), id.IsNull())
	}
	if m.Kind == wire.Batch || !m.Value().IsObject() {
		return
	}
	for name, got := range map[string]gjson.Result{"params": m.Params(), "result": m.Result(), "error": m.Error()} {
		if want := wire.Member(m.Value(), name); got.Raw != want.Raw {
			t.Errorf("%s is %s, want %s", name, got.Raw, want.Raw)
		}
	}
	if _, ok := m.ErrorCode(); ok && m.Kind != wire.Error {
		t.Errorf("a %v has an error code", m.Kind)
	}
	hasEscapes := bytes.Contains(m.Raw, []byte(`\`))
	if text := m.Summary(); text == "" || !utf8.ValidString(text) && !hasEscapes {
		t.Errorf("the summary is %q", text)
	}
}
