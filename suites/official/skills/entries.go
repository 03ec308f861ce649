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

// officialSkillEntries are what each entry of skills/list says of its skill. That
// its URI is of the scheme skill is no check: a server may serve skills under one
// of its own domain (SEP-2640, resource mapping), and nothing tells whether it is.
func officialSkillEntries() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.entry.uri",
			Says: "each skill has the uri of its SKILL.md",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachSkill(t, "", func(s skill) bool {
					if uri := s.Get("uri"); s.root() == "" {
						t.Fail("the URI of a SKILL.md, in a directory", contract.ShortJSON(uri), "the uri of a skill is %s", contract.ShortJSON(uri))
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.frontmatter",
			Says: "each skill has a frontmatter with name and description",
			Spec: skillsEnumeration,
			// skillFrontmatters notes keys of metadata that MCP reserves for its extensions:
			// any of them may define some, so that nothing tells whether it does.
			Probe: func(t *check.T) {
				eachSkill(t, "", func(s skill) bool {
					front := s.Get("frontmatter")
					for _, member := range []string{"name", "description"} {
						if v := wire.Member(front, member); v.Type != gjson.String || strings.TrimSpace(v.Str) == "" {
							t.Fail("a frontmatter with "+member, contract.ShortJSON(front), "the %s in the frontmatter of %s is %s", member, s, contract.ShortJSON(v))
						}
					}
					for key := range front.Get("metadata").Map() {
						if strings.HasPrefix(key, "io.modelcontextprotocol/") {
							t.Note("the metadata of %s has the key %s, which is reserved for extensions of MCP", s, wire.Clip(key, 80))
						}
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.resources",
			Says: `the resources of each skill are an array, or "dynamic"`,
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachSkill(t, "", func(s skill) bool {
					if v := s.Get("resources"); !v.IsArray() && (v.Type != gjson.String || v.Str != "dynamic") {
						t.Fail(`an array, or "dynamic"`, contract.ShortJSON(v), "the resources of %s are %s", s, contract.ShortJSON(v))
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.name",
			Says: "the directory of each skill is called as the name in its frontmatter",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachSkill(t, "no skill has a name, and the URI of a SKILL.md", func(s skill) bool {
					name, root := s.text("frontmatter.name"), s.root()
					if name == "" || root == "" {
						return false
					}
					if got := lastSegment(root); got != name && !strings.HasSuffix(root, "/"+name) {
						t.Fail(contract.AsJSON(name), contract.AsJSON(wire.Clip(got, 80)), "%s is in a directory %s, and its name is %s", s, wire.Clip(got, 80), wire.Clip(name, 80))
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.entry.name.rules",
			Says: "the name of each skill is of at most 64 lower-case letters and digits, with single hyphens between them",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachSkill(t, "no skill has the URI of a SKILL.md", func(s skill) bool {
					root := s.root()
					if root == "" {
						return false
					}
					if name := lastSegment(root); !wellNamed(name) {
						t.Fail("at most 64 lower-case letters and digits, with single hyphens between them", contract.AsJSON(wire.Clip(name, 80)), "%s is of a skill with the name %s", s, contract.AsJSON(wire.Clip(name, 80)))
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
			Probe: func(t *check.T) {
				named := map[string]string{}
				eachSkill(t, "no skill has a name", func(s skill) bool {
					name := s.text("frontmatter.name")
					if other := named[name]; name != "" && other != "" && other != s.uri() {
						t.Fail("another name", contract.AsJSON(name), "%s and %s have the same name %s", s, wire.Clip(other, 120), wire.Clip(name, 80))
					}
					named[name] = s.uri()
					return name != ""
				})
				if delete(named, ""); len(named) < 2 {
					t.NotObserved("one skill alone is listed", "list another skill")
				}
			},
		},
		{
			ID:    "official.skills.entry.path",
			Says:  "the first segment of the path of a skill:// URI is a registered name, and what follows are segments of a path",
			Level: spec.Should,
			Spec:  skillsEnumeration,
			Probe: func(t *check.T) {
				eachSkill(t, "no skill has a skill:// URI", func(s skill) bool {
					path, ok := strings.CutPrefix(s.uri(), "skill://")
					if !ok || !strings.HasSuffix(path, "/SKILL.md") {
						return false
					}
					segments := strings.Split(strings.TrimSuffix(path, "/SKILL.md"), "/")
					if !regName.MatchString(segments[0]) {
						t.Fail("a registered name (RFC 3986)", contract.AsJSON(wire.Clip(segments[0], 80)), "the path of %s begins with %s", s, contract.AsJSON(wire.Clip(segments[0], 80)))
					}
					if i := slices.IndexFunc(segments[1:], func(segment string) bool { return !pathSegment.MatchString(segment) }); i >= 0 {
						t.Fail("a segment of a path (RFC 3986)", contract.AsJSON(wire.Clip(segments[i+1], 80)), "the path of %s has the segment %s", s, contract.AsJSON(wire.Clip(segments[i+1], 80)))
					}
					return true
				})
			},
		},
	}
}

// wellNamed tells whether a name follows the rules of Agent Skills. Letters and
// digits of other scripts are let pass: the rules can be read either way.
func wellNamed(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= 64 &&
		!strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && (unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r))
		})
}

var (
	// regName and pathSegment are as in RFC 3986, appendix A.
	regName     = regexp.MustCompile(`^([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	pathSegment = regexp.MustCompile(`^([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*$`)
)
