package schema

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// metaJudges are the judges of basic/index#meta.
func metaJudges() []check.Check {
	keyed := spec.Since(spec.V2025_06_18) // where keys have a grammar
	return []check.Check{
		{
			ID:    "schema.meta.object",
			Says:  "_meta, wherever the schema has it, is an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-meta-object"},
			Judge: func(j *check.J) {
				eachMeta(j, func(s transcript.Message, at string, v gjson.Result) {
					if !v.IsObject() {
						j.Fail(s.Entry, "%s: %s is %s, not an object", s.Name, at, wire.TypeName(v))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "schema.meta.prefix",
			Says:  "the prefix of a _meta key is a series of labels separated by dots",
			Level: spec.Must,
			In:    keyed,
			Rules: []string{"schema-meta-prefix"},
			Judge: func(j *check.J) {
				metaKeys(j, func(_ *check.J, k metaKey) (bool, string) {
					return k.prefixed, when(slices.Contains(k.labels, ""), "has an empty label in its prefix")
				})
			},
		},
		{
			ID:    "schema.meta.label",
			Says:  "the labels in the prefix of a _meta key start with a letter, end with a letter or digit, and have letters, digits or hyphens between",
			Level: spec.Must,
			In:    keyed,
			Rules: []string{"schema-meta-prefix-label"},
			Judge: func(j *check.J) {
				metaKeys(j, func(_ *check.J, k metaKey) (bool, string) {
					bad := slices.IndexFunc(k.labels, func(l string) bool { return l != "" && !metaLabel.MatchString(l) })
					if bad < 0 {
						return k.prefixed, ""
					}
					return true, "has the label " + wire.Clip(k.labels[bad], 40)
				})
			},
		},
		{
			ID:    "schema.meta.name",
			Says:  "the name of a _meta key, unless empty, begins and ends with a letter or digit",
			Level: spec.Must,
			In:    keyed,
			Rules: []string{"schema-meta-name"},
			Judge: func(j *check.J) {
				metaKeys(j, func(_ *check.J, k metaKey) (bool, string) {
					return k.name != "", when(k.name != "" && !metaName.MatchString(k.name), "has the name "+wire.Clip(k.name, 80))
				})
			},
		},
		{
			ID:    "schema.meta.reserved",
			Says:  "no _meta key stands under a prefix reserved for MCP that MCP does not define",
			Level: spec.Should,
			In:    keyed,
			Rules: []string{"schema-meta-reserved-prefix"},
			Judge: func(j *check.J) { metaKeys(j, reservedKey) },
		},
		{
			ID:    "schema.meta.reverse-dns",
			Says:  "the prefix of a _meta key is a domain in reverse",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-meta-prefix-reverse-dns"},
			Judge: func(j *check.J) {
				metaKeys(j, func(_ *check.J, k metaKey) (bool, string) {
					return k.prefixed && k.valid(), when(k.valid() && forwards(k.labels), "has a prefix that is no domain in reverse")
				})
			},
		},
		{
			ID:    "schema.meta.trace",
			Says:  "traceparent, tracestate and baggage in _meta have the formats of W3C Trace Context and Baggage",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"schema-meta-trace-format"},
			// metaTrace judges the keys of https://www.w3.org/TR/trace-context/ and
			// https://www.w3.org/TR/baggage/.
			Judge: func(j *check.J) {
				formats := map[string]func(string) bool{"traceparent": isTraceparent, "tracestate": isTracestate, "baggage": isBaggage}
				eachMeta(j, func(s transcript.Message, at string, v gjson.Result) {
					for key, good := range formats {
						switch value := wire.Member(v, key); {
						case !value.Exists():
						case value.Type != gjson.String:
							j.Fail(s.Entry, "%s: %s/%s is %s, not a string", s.Name, at, key, wire.TypeName(value))
						case !good(value.Str):
							j.Fail(s.Entry, "%s: %s/%s is malformed: %q", s.Name, at, key, wire.Clip(value.Str, 80))
						default:
							j.Saw()
						}
					}
				})
			},
		},
	}
}

func when(wrong bool, why string) string {
	if !wrong {
		return ""
	}
	return why
}

// eachMeta gives every value that stands where the schema has _meta, in what was
// said anew: in what the revision defines, and in results and params of any
// method.
func eachMeta(j *check.J, look func(s transcript.Message, at string, v gjson.Result)) {
	for _, f := range check.Derived(j, "_meta", func() (all []transcript.Member) {
		top := func(s transcript.Message) (at string, v gjson.Result) {
			if s.Message.Method() != "" {
				return "/params/_meta", s.Message.Params().Get("_meta")
			}
			return "/_meta", s.Body.Get("_meta")
		}
		transcript.EachDistinctMessage(j, func(s transcript.Message) {
			if at, v := top(s); v.Exists() {
				all = append(all, transcript.Member{Message: s, Member: schema.Member{Path: at, Value: v}})
			}
		})
		transcript.EachMember(j, "_meta", func(f transcript.Member) {
			if at, _ := top(f.Message); f.Path != at {
				all = append(all, f)
			}
		})
		return all
	}) {
		look(f.Message, f.Path, f.Value)
	}
}

// A metaKey is a key of _meta, taken apart: the prefix ends at the first slash.
type metaKey struct {
	key      string
	prefixed bool
	labels   []string
	name     string
}

func parseMetaKey(key string) metaKey {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return metaKey{key: key, name: key}
	}
	return metaKey{key, true, strings.Split(prefix, "."), name}
}

// valid tells whether the prefix is as the grammar wants it.
func (k metaKey) valid() bool {
	return k.prefixed && !slices.ContainsFunc(k.labels, func(l string) bool { return !metaLabel.MatchString(l) })
}

var (
	metaLabel = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
	// What stands inside of a name is told by a MAY alone.
	metaName = regexp.MustCompile(`^[A-Za-z0-9](.*[A-Za-z0-9])?$`)
)

// metaKeys judges the keys of all _meta objects; look tells whether a key is a
// subject of the rule, and what is wrong with it.
func metaKeys(j *check.J, look func(j *check.J, k metaKey) (subject bool, wrong string)) {

	eachMeta(j, func(s transcript.Message, at string, v gjson.Result) {
		if !v.IsObject() {
			return
		}
		v.ForEach(func(key, _ gjson.Result) bool {
			switch subject, wrong := look(j, parseMetaKey(key.String())); {
			case wrong != "":
				j.Fail(s.Entry, "%s: %s: the key %q %s", s.Name, at, wire.Clip(key.String(), 80), wrong)
			case subject:
				j.Saw()
			}
			return true
		})
	})

}

// secondLabel are the revisions in which the second label of a prefix reserves
// it; before, any label does that another follows.
var secondLabel = spec.Since(spec.V2025_11_25)

// definedMeta are the keys under reserved prefixes that some revision defines,
// in schema.ts or in basic/utilities/tasks of 2025-11-25. A server of several
// eras that sends one where it means nothing takes no name from MCP.
var definedMeta = []string{
	spec.MetaProtocolVersion, spec.MetaClientInfo, spec.MetaClientCapabilities, spec.MetaLogLevel, spec.MetaServerInfo, spec.MetaSubscriptionID,
	"io.modelcontextprotocol/related-task", "io.modelcontextprotocol/model-immediate-response",
}

// officialPrefix is where official extensions define keys of their own
// (basic/index#meta, since 2026-07-28), which nothing on the wire tells from
// others.
const officialPrefix = "io.modelcontextprotocol"

// skillsPrefix is where the skills extension has servers put what they say of
// skill resources (SEP-2640, resource metadata).
const skillsPrefix = officialPrefix + ".skills"

func reservedKey(j *check.J, k metaKey) (subject bool, wrong string) {
	ours := func(label string) bool { return label == "mcp" || label == "modelcontextprotocol" }
	reserved := false
	if secondLabel.Has(j.Rev) {
		reserved = k.valid() && len(k.labels) > 1 && ours(k.labels[1])
	} else {
		reserved = k.valid() && slices.ContainsFunc(k.labels[:len(k.labels)-1], ours)
	}
	switch {
	case !reserved || slices.Contains(definedMeta, k.key):
		return true, ""
	case j.Facts.Stateless && strings.Join(k.labels, ".") == skillsPrefix:
		return false, ""
	case j.Facts.Stateless && strings.Join(k.labels, ".") == officialPrefix:
		j.Note("the _meta key %q is of no revision: it may be of an official extension", wire.Clip(k.key, 80))
		return false, ""
	}
	return true, "stands under a prefix reserved for MCP, which does not define it"
}

// forwards tells whether labels are plainly no domain in reverse: the first is
// no top-level domain, and the last is one or there is no other. Where neither
// is known as one nothing is said.
func forwards(labels []string) bool {
	return !topLevel(labels[0]) && (len(labels) == 1 || topLevel(labels[len(labels)-1]))
}

// topLevel takes every label of two letters for the domain of a country, and
// knows the generic ones that are in wide use.
func topLevel(label string) bool {
	return len(label) == 2 || slices.Contains([]string{
		"com", "org", "net", "edu", "gov", "mil", "int", "arpa", "info", "biz", "name", "pro", "dev", "app", "page", "cloud", "tech", "tools",
		"software", "systems", "services", "solutions", "studio", "run", "sh", "xyz", "site", "online", "store", "shop", "blog", "news",
		"local", "internal", "google", "microsoft", "amazon", "aws", "apple", "bank", "health", "agency", "works", "zone",
		"world", "live", "link", "codes", "computer", "digital", "network", "email", "design", "group", "company", "team", "build", "chat", "bot",
	}, strings.ToLower(label))
}

var (
	traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)
	// Keys as both levels of Trace Context allow them, values of printable
	// ASCII without comma and equals sign.
	traceMember = regexp.MustCompile(`^([a-z0-9][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z0-9][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$`)
	// A member of baggage: a token, a value, and properties after semicolons.
	baggageMember = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+" + baggageValue + "(;[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*(" + baggageValue + ")?)*$")
)

const baggageValue = `[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*[ \t]*`

// isTraceparent: the version ff is invalid, an id of zeros too, and only
// versions after 00 may have more fields.
func isTraceparent(v string) bool {
	if !traceparent.MatchString(v) {
		return false
	}
	version, trace, parent := v[:2], v[3:35], v[36:52]
	return version != "ff" && strings.Trim(trace, "0") != "" && strings.Trim(parent, "0") != "" && (version != "00" || len(v) == 55)
}

func isTracestate(v string) bool {
	members := strings.Split(v, ",")
	if len(members) > 32 {
		return false
	}
	for _, m := range members {
		if m = strings.Trim(m, " \t"); m != "" && !traceMember.MatchString(m) {
			return false
		}
	}
	return true
}

func isBaggage(v string) bool {
	for _, m := range strings.Split(v, ",") {
		if !baggageMember.MatchString(strings.Trim(m, " \t")) {
			return false
		}
	}
	return true
}
