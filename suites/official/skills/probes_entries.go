package skills

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// entryProbes returns the probes of the entries of skills/list. The scheme of a URI is
// not judged: a server may serve skills under a scheme of its own domain (SEP-2640,
// resource mapping), and the list does not show which domain that is.
func entryProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.entry.uri",
			Says: "the uri of each skill is that of its SKILL.md",
			Spec: skillsEnumeration,
			Idle: noSkill,
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachSkill(t, func(s skill) bool {
					if uri := s.Get("uri"); s.root() == "" {
						got := contract.ShortJSON(uri)
						t.Fail("the URI of a SKILL.md, in a directory", got, "the uri of a skill is %s", got)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.frontmatter",
			Says: "each skill has a frontmatter with name and description",
			Spec: skillsEnumeration,
			Idle: noSkill,
			Hint: listSkill,
			// MCP reserves some keys of metadata for its extensions. Any extension may define
			// them, so that they are noted only.
			Probe: func(t *check.T) {
				eachSkill(t, func(s skill) bool {
					front := s.Get("frontmatter")
					for _, member := range []string{"name", "description"} {
						if v := wire.Member(front, member); v.Type != gjson.String || strings.TrimSpace(v.Str) == "" {
							t.Fail("a frontmatter with "+member, contract.ShortJSON(front),
								"the %s in the frontmatter of %s is %s", member, s, contract.ShortJSON(v))
						}
					}
					for key := range front.Get("metadata").Map() {
						if strings.HasPrefix(key, "io.modelcontextprotocol/") {
							t.Note("the metadata of %s has the key %s, which is reserved for extensions of MCP", s,
								wire.Clip(key, 80))
						}
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.resources",
			Says: `the resources of each skill are an array or "dynamic"`,
			Spec: skillsEnumeration,
			Idle: noSkill,
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachSkill(t, func(s skill) bool {
					if v := s.Get("resources"); !v.IsArray() && (v.Type != gjson.String || v.Str != "dynamic") {
						t.Fail(`an array, or "dynamic"`, contract.ShortJSON(v), "the resources of %s are %s", s,
							contract.ShortJSON(v))
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.name",
			Says: "the directory of each skill has the name in its frontmatter",
			Spec: skillsEnumeration,
			Idle: "no listed skill has both a name and the URI of a SKILL.md",
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachSkill(t, func(s skill) bool {
					name, root := s.text("frontmatter.name"), s.root()
					if name == "" || root == "" {
						return false
					}
					if got := lastSegment(root); got != name && !strings.HasSuffix(root, "/"+name) {
						t.Fail(contract.Quote(name), contract.Quote(wire.Clip(got, 80)),
							"%s is in the directory %s, but its name is %s", s, wire.Clip(got, 80), wire.Clip(name, 80))
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.name.rules",
			Says: "the name of each skill has at most 64 lower-case letters, digits and single inner hyphens",
			Spec: skillsEnumeration,
			Idle: "no listed skill has the URI of a SKILL.md",
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachSkill(t, func(s skill) bool {
					root := s.root()
					if root == "" {
						return false
					}
					if name := lastSegment(root); !isValidName(name) {
						got := contract.Quote(wire.Clip(name, 80))
						t.Fail("at most 64 lower-case letters and digits, with single hyphens between them", got,
							"%s has the name %s", s, got)
					}
					return true
				})
			},
		},
		{
			ID:    "official.skills.entry.name.unique",
			Says:  "no two skills of the list have the same name",
			Level: spec.Should,
			Spec:  skillsEnumeration,
			Idle:  "fewer than two listed skills have a name",
			Hint:  "list another skill",
			Probe: func(t *check.T) {
				named := map[string]string{}
				for _, s := range listedSkills(t) {
					t.Mark(s.answer)
					name := s.text("frontmatter.name")
					if name == "" {
						continue
					}
					if other := named[name]; other != "" && other != s.uri() {
						t.Fail("another name", contract.Quote(name),
							"%s and %s have the same name %s", s, wire.Clip(other, 120), wire.Clip(name, 80))
					}
					named[name] = s.uri()
				}
				if len(named) > 1 {
					t.Saw()
				}
			},
		},
		{
			ID:    "official.skills.entry.path",
			Says:  "in a skill:// URI the first segment is a registered name, and the others are path segments",
			Level: spec.Should,
			Spec:  skillsEnumeration,
			Idle:  "no listed skill has a skill:// URI",
			Hint:  "list a skill with a skill:// URI",
			Probe: func(t *check.T) {
				eachSkill(t, func(s skill) bool {
					path, ok := strings.CutPrefix(s.uri(), "skill://")
					if !ok || !strings.HasSuffix(path, "/SKILL.md") {
						return false
					}
					segments := strings.Split(strings.TrimSuffix(path, "/SKILL.md"), "/")
					if !regName.MatchString(segments[0]) {
						t.Fail("a registered name (RFC 3986)", contract.Quote(wire.Clip(segments[0], 80)),
							"the path of %s begins with the segment %s", s, contract.Quote(wire.Clip(segments[0], 80)))
					}
					isInvalid := func(segment string) bool { return !pathSegment.MatchString(segment) }
					if i := slices.IndexFunc(segments[1:], isInvalid); i >= 0 {
						t.Fail("a segment of a path (RFC 3986)", contract.Quote(wire.Clip(segments[i+1], 80)),
							"the path of %s has the segment %s", s, contract.Quote(wire.Clip(segments[i+1], 80)))
					}
					return true
				})
			},
		},
	}
}

// isValidName reports whether a name follows the rules of Agent Skills. Letters and
// digits of other scripts are accepted: the rules do not say that they are excluded.
func isValidName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= 64 &&
		!strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && (unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r))
		})
}

var (
	// regName and pathSegment match the productions of RFC 3986, appendix A.
	regName     = regexp.MustCompile(`^([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	pathSegment = regexp.MustCompile(`^([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*$`)
)
