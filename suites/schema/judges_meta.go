package schema

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why the judges of _meta are not observed, and what helps.
const (
	noPrefix  = "no _meta key of the server has a prefix"
	usePrefix = "send a _meta key with a prefix, such as example.com/key"
)

// withGrammar are the revisions in which keys have a grammar.
var withGrammar = spec.Since(spec.V2025_06_18)

// metaJudges returns the judges of basic/index#meta.
func metaJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.meta.object",
			Says:  "_meta is an object wherever the schema has it",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-meta-object"},
			Idle:  "the server sent no _meta",
			Hint:  "send _meta in a result or a notification",
			Judge: func(j *check.J) {
				check.Each(j, metaValues(j), func(m transcript.Member) bool {
					if !m.Value.IsObject() {
						j.Fail(m.Entry, "%s: %s is %s, not an object", m.Name, m.Path, wire.TypeName(m.Value))
					}
					return true
				})
			},
		},
		{
			ID:    "schema.meta.prefix",
			Says:  "the prefix of a _meta key is a series of labels separated by dots",
			Level: spec.Must,
			In:    withGrammar,
			Rules: []string{"schema-meta-prefix"},
			Idle:  noPrefix,
			Hint:  usePrefix,
			Judge: func(j *check.J) {
				check.Each(j, metaKeys(j), func(k metaKey) bool {
					if slices.Contains(k.labels, "") {
						k.fail(j, "has an empty label in its prefix")
					}
					return k.hasPrefix
				})
			},
		},
		{
			ID:    "schema.meta.label",
			Says:  "a label in the prefix of a _meta key begins with a letter, has letters, digits and inner hyphens",
			Level: spec.Must,
			In:    withGrammar,
			Rules: []string{"schema-meta-prefix-label"},
			Idle:  noPrefix,
			Hint:  usePrefix,
			// schema.meta.prefix judges empty labels.
			Judge: func(j *check.J) {
				isInvalid := func(label string) bool { return label != "" && !metaLabel.MatchString(label) }
				check.Each(j, metaKeys(j), func(k metaKey) bool {
					if i := slices.IndexFunc(k.labels, isInvalid); i >= 0 {
						k.fail(j, "has the label %s", wire.Clip(k.labels[i], 40))
					}
					return k.hasPrefix
				})
			},
		},
		{
			ID:    "schema.meta.name",
			Says:  "the name of a _meta key, unless empty, begins and ends with a letter or digit",
			Level: spec.Must,
			In:    withGrammar,
			Rules: []string{"schema-meta-name"},
			Idle:  "no _meta key of the server has a name",
			Hint:  "send a _meta key with a name",
			Judge: func(j *check.J) {
				check.Each(j, metaKeys(j), func(k metaKey) bool {
					if k.name != "" && !metaName.MatchString(k.name) {
						k.fail(j, "has the name %s", wire.Clip(k.name, 80))
					}
					return k.name != ""
				})
			},
		},
		{
			ID:    "schema.meta.reserved",
			Says:  "no _meta key has a prefix that is reserved for MCP unless MCP defines the key",
			Level: spec.Should,
			In:    withGrammar,
			Rules: []string{"schema-meta-reserved-prefix"},
			Idle:  "the server sent no _meta key",
			Hint:  "send a key in _meta",
			Judge: func(j *check.J) {
				check.Each(j, metaKeys(j), func(k metaKey) bool {
					switch {
					case !k.isReserved(j.Rev) || slices.Contains(definedMeta, k.key):
						return true
					case j.Facts.Stateless && k.prefix() == skillsPrefix:
						return false
					case j.Facts.Stateless && k.prefix() == officialPrefix:
						j.Note("no revision has the _meta key %q: it may be of an official extension",
							wire.Clip(k.key, 80))
						return false
					}
					k.fail(j, "has a prefix that is reserved for MCP, which does not define the key")
					return true
				})
			},
		},
		{
			ID:    "schema.meta.reverse-dns",
			Says:  "the prefix of a _meta key is a reversed domain name",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-meta-prefix-reverse-dns"},
			Idle:  noPrefix,
			Hint:  usePrefix,
			Judge: func(j *check.J) {
				check.Each(j, metaKeys(j), func(k metaKey) bool {
					if k.isValid() && isNotReversed(k.labels) {
						k.fail(j, "has a prefix that is no reversed domain name")
					}
					return k.isValid()
				})
			},
		},
		{
			ID:    "schema.meta.trace",
			Says:  "traceparent, tracestate and baggage in _meta have the formats of W3C Trace Context and Baggage",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"schema-meta-trace-format"},
			Idle:  "the server sent no trace context in _meta",
			Hint:  "send traceparent, tracestate or baggage in _meta",
			// The formats are those of https://www.w3.org/TR/trace-context/ and
			// https://www.w3.org/TR/baggage/.
			Judge: func(j *check.J) {
				formats := map[string]func(string) bool{
					"traceparent": isTraceparent, "tracestate": isTracestate, "baggage": isBaggage,
				}
				for _, m := range metaValues(j) {
					for key, isFormat := range formats {
						switch value := wire.Member(m.Value, key); {
						case !value.Exists():
						case value.Type != gjson.String:
							j.Fail(m.Entry, "%s: %s/%s is %s, not a string", m.Name, m.Path, key, wire.TypeName(value))
						case !isFormat(value.Str):
							j.Fail(m.Entry, "%s: %s/%s is malformed: %q", m.Name, m.Path, key, wire.Clip(value.Str, 80))
						default:
							j.Saw()
						}
					}
				}
			},
		},
	}
}

// metaValues returns every value that stands where the schema has _meta, in distinct
// messages: in all that the revision defines, and in results and params of any method.
func metaValues(j *check.J) []transcript.Member {
	return check.Derived(j, "_meta", func() (all []transcript.Member) {
		for _, s := range transcript.DistinctMessages(j) {
			if path, v := topMeta(s); v.Exists() {
				all = append(all, transcript.Member{Message: s, Member: schema.Member{Path: path, Value: v}})
			}
		}
		for _, m := range transcript.Members(j, "_meta") {
			if path, _ := topMeta(m.Message); m.Path != path {
				all = append(all, m)
			}
		}
		return all
	})
}

// topMeta returns the _meta of the params or the result of a message, and its path.
func topMeta(s transcript.Message) (path string, v gjson.Result) {
	if s.Message.Method() != "" {
		return "/params/_meta", s.Message.Params().Get("_meta")
	}
	return "/_meta", s.Body.Get("_meta")
}

// metaKeys returns the keys of all _meta objects.
func metaKeys(j *check.J) (keys []metaKey) {
	for _, m := range metaValues(j) {
		if !m.Value.IsObject() {
			continue
		}
		m.Value.ForEach(func(key, _ gjson.Result) bool {
			k := parseMetaKey(key.String())
			k.in = m
			keys = append(keys, k)
			return true
		})
	}
	return keys
}
