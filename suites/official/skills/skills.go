// Package skills checks the skills extension (SEP-2640) of the public conformance contract.
package skills

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// skillsExtension identifies the skills extension (SEP-2640). A server declares
// it; a client calls its methods once it has seen that.
const skillsExtension = "io.modelcontextprotocol/skills"

// The scenarios of the contract that use it.
const (
	skillsEnumeration = "sep-2640-skills-enumeration"
	skillsManifest    = "sep-2640-skills-manifest"
	skillsDirectory   = "sep-2640-skills-directory"
)

var skillsList = offer.List{Method: "skills/list", Member: "skills", Capability: "resources", Key: "uri"}

// Checks returns the checks of the skills extension, for servers that declare it. A
// list of skills may be empty or partial (SEP-2640, listing skills): skills that are
// not listed are not judged.
func Checks() []check.Check {
	all := slices.Concat(listProbes(), entryProbes(), manifestProbes(), getProbes(), fileProbes(), directoryProbes())
	for i := range all {
		all[i].In = spec.Stateless
		if all[i].Level == "" {
			all[i].Level = spec.Must
		}
	}
	return all
}

// The reasons why several checks are not observed, and what helps.
const (
	notDeclared  = "the server does not declare the skills extension"
	noList       = "no page of skills/list was read"
	noSkill      = "no skill is listed"
	listSkill    = "list a skill in skills/list"
	noGetResult  = "skills/get returned no result"
	noManifest   = "no skill lists its files"
	noFile       = "no skill lists a file"
	listManifest = "list a skill with its files"
	noDirectory  = "no directory of a skill was read to its end"
)

// skillSettings returns the settings of the extension that the server declares. A
// server that does not declare the extension makes the check not applicable.
func skillSettings(t *check.T) gjson.Result {
	settings := wire.Member(t.Opening().Capabilities.Get("extensions"), skillsExtension)
	if !settings.Exists() {
		t.NotApplicable("the server does not declare the extension " + skillsExtension)
	}
	return settings
}

// A skill is an entry of skills/list or skills/get.
type skill struct {
	gjson.Result
	answer wire.Entry // the answer that holds it
}

// text returns a member that is a string, "" for any other.
func (s skill) text(path string) string {
	if v := s.Get(path); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

// uri returns the URI of the skill.
func (s skill) uri() string { return s.text("uri") }

// String names the skill in a sentence.
func (s skill) String() string {
	if uri := s.uri(); uri != "" {
		return wire.Clip(uri, 120)
	}
	return "a skill without uri"
}

// schemePattern matches the beginning of a URI with a scheme (RFC 3986, section 3.1).
var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// root returns the URI of the directory of the skill; "" if the URI of the skill is
// not that of a SKILL.md (SEP-2640, resource mapping). The check of its path, which
// has another level, judges the rest of the URI.
func (s skill) root() string {
	root, ok := strings.CutSuffix(s.uri(), "/SKILL.md")
	if !ok || !schemePattern.MatchString(root) || lastSegment(root) == "" {
		return ""
	}
	return root
}

// lastSegment returns the last segment of the path in a URI, unescaped.
func lastSegment(uri string) string {
	_, path, _ := strings.Cut(uri, ":")
	segment := path[strings.LastIndex(path, "/")+1:]
	if !strings.Contains(path, "/") {
		segment = path[strings.LastIndex(path, ":")+1:]
	}
	if plain, err := url.PathUnescape(segment); err == nil {
		return plain
	}
	return segment
}

// files returns the records of its files; a dynamic skill has none.
func (s skill) files() []gjson.Result {
	if list := s.Get("resources"); list.IsArray() {
		return list.Array()
	}
	return nil
}

// contains reports whether a URI is below the directory of the skill.
func (s skill) contains(uri string) bool {
	path, ok := strings.CutPrefix(uri, s.root()+"/")
	return ok && s.root() != "" && !slices.ContainsFunc(strings.Split(path, "/"), func(segment string) bool {
		return segment == "" || segment == "." || segment == ".."
	})
}

// listedSkills returns the skills that the server lists. A list that cannot be read
// makes the check not observed.
func listedSkills(t *check.T) []skill { return skillsOf(readList(t)) }

// readList returns the list of skills, of which one page at least was read.
func readList(t *check.T) *offer.Walk {
	skillSettings(t)
	w := offer.WalkOnce(t, skillsList)
	if len(w.Pages) == 0 {
		t.NotObserved("skills/list returned "+w.Failure, "answer skills/list with a result")
	}
	return w
}

// skillsOf returns the skills on all pages of a list.
func skillsOf(w *offer.Walk) []skill {
	var all []skill
	for _, p := range w.Pages {
		for _, item := range p.Items {
			all = append(all, skill{item, p.Answer})
		}
	}
	return all
}

// eachSkill judges the listed skills one by one. judge reports whether a skill was a
// subject of the rule: only then it counts as evidence.
func eachSkill(t *check.T, judge func(s skill) bool) {
	for _, s := range listedSkills(t) {
		t.Mark(s.answer)
		if judge(s) {
			t.Saw()
		}
	}
}
