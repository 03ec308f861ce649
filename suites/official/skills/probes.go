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
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// skillsExtension identifies the skills extension (SEP-2640). A server declares
// it; a client calls its methods once it has seen that.
const skillsExtension = "io.modelcontextprotocol/skills"

// The scenarios of the contract that show it.
const (
	skillsEnumeration = "sep-2640-skills-enumeration"
	skillsManifest    = "sep-2640-skills-manifest"
	skillsDirectory   = "sep-2640-skills-directory"
)

var skillsList = offer.List{Method: "skills/list", Member: "skills", Capability: "resources", Key: "uri"}

// Checks are the checks of the skills extension, for servers that
// declare it. A list of skills may be empty or partial (SEP-2640, listing
// skills): what is not listed is not judged.
func Checks() []check.Check {
	all := slices.Concat(officialSkillOffers(), officialSkillEntries(), officialSkillManifests(), officialSkillGets(), officialSkillFiles(), officialSkillDirectories())
	for i := range all {
		all[i].In = spec.Stateless
		if all[i].Level == "" {
			all[i].Level = spec.Must
		}
	}
	return all
}

// officialSkillOffers are what the server declares, and its list of skills.
func officialSkillOffers() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.declared",
			Says: "the settings of the skills extension are an object, with directoryRead a boolean in the object itself",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				settings := skillSettings(t)
				if !settings.IsObject() {
					t.Fail("an object", contract.ShortJSON(settings), "the settings of %s are %s, not an object", skillsExtension, wire.TypeName(settings))
				}
				if v := settings.Get("directoryRead"); v.Exists() && !v.IsBool() {
					t.Fail("a boolean", contract.ShortJSON(v), "directoryRead is %s, not a boolean", contract.ShortJSON(v))
				}
				if v := settings.Get("config"); v.IsObject() {
					t.Fail("settings in the object itself", contract.ShortJSON(settings), "the settings of %s stand in an object config, which the extension does not define", skillsExtension)
				}
			},
		},
		{
			ID:   "official.skills.declared.resources",
			Says: "who declares the skills extension declares the capability resources",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				skillSettings(t)
				if v := t.Opening().Capabilities.Get("resources"); !v.IsObject() {
					t.Fail("the capability resources", contract.ShortJSON(t.Opening().Capabilities), "the server declares %s and not the capability resources", skillsExtension)
				}
			},
		},
		{
			ID:   "official.skills.list",
			Says: "skills/list is answered with a complete result that has an array skills",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				skillSettings(t)
				w := offer.Walked(t, skillsList)
				if len(w.Pages) == 0 {
					t.Mark(w.Last)
					t.Fail("a result with an array skills", w.Broke, "skills/list was answered with %s", w.Broke)
				}
				for _, p := range w.Pages {
					mustBeComplete(t, "skills/list", p.Answer)
				}
			},
		},
		{
			ID:   "official.skills.list.pages",
			Says: "the pages of skills/list follow their cursors to an end, and no skill stands on two of them",
			Spec: skillsEnumeration,
			// skillPages asks a second time before it says that an entry stands on two
			// pages: a list may change while it is read.
			Probe: func(t *check.T) {
				skillSettings(t)
				w := offer.Walked(t, skillsList)
				mustFollow(t, w)
				if _, twice := onTwoPages(w); !twice {
					return
				}
				if uri, twice := onTwoPages(offer.WalkNow(t, skillsList)); twice {
					t.Fail("each skill on one page", contract.AsJSON(wire.Clip(uri, 120)), "%s stands on two pages of skills/list", wire.Clip(uri, 120))
				}
			},
		},
		{
			ID:   "official.skills.list.cached",
			Says: "each page of skills/list has ttlMs and cacheScope",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				skillSettings(t)
				w := offer.Walked(t, skillsList)
				if len(w.Pages) == 0 {
					t.NotObserved("skills/list gave "+w.Broke, "")
				}
				for _, p := range w.Pages {
					mustBeCacheable(t, "skills/list", p.Answer)
				}
			},
		},
	}
}

// skillSettings returns what the server declares of the extension, and ends the
// body of a check where it does not declare it, which no server needs to.
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
	answer wire.Entry // that it stands in
}

// text returns a member that is a string, "" for any other.
func (s skill) text(path string) string {
	if v := s.Get(path); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

func (s skill) uri() string { return s.text("uri") }

// String names the skill in a sentence.
func (s skill) String() string {
	if uri := s.uri(); uri != "" {
		return wire.Clip(uri, 120)
	}
	return "a skill without uri"
}

// absolute is how a URI with a scheme begins (RFC 3986, section 3.1).
var absolute = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// root returns the URI of the directory of the skill, "" where its own is not
// that of a SKILL.md (SEP-2640, resource mapping). What else is wrong with the
// URI is for the check of its path, which is of another level.
func (s skill) root() string {
	root, ok := strings.CutSuffix(s.uri(), "/SKILL.md")
	if !ok || !absolute.MatchString(root) || lastSegment(root) == "" {
		return ""
	}
	return root
}

// lastSegment returns the last segment of the path in a URI, as it is meant.
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

// files returns the records of its files; there are none of a skill that is
// dynamic.
func (s skill) files() []gjson.Result {
	if list := s.Get("resources"); list.IsArray() {
		return list.Array()
	}
	return nil
}

// within tells whether a URI is that of something in the directory of the skill.
func (s skill) within(uri string) bool {
	path, ok := strings.CutPrefix(uri, s.root()+"/")
	return ok && s.root() != "" && !slices.ContainsFunc(strings.Split(path, "/"), func(segment string) bool {
		return segment == "" || segment == "." || segment == ".."
	})
}

// listedSkills returns the skills that the server lists, and ends the body of a
// check where there are none.
func listedSkills(t *check.T) []skill {
	skillSettings(t)
	w := offer.Walked(t, skillsList)
	all := skillsOf(w)
	switch {
	case len(all) > 0:
		return all
	case len(w.Pages) == 0:
		t.NotObserved("skills/list gave "+w.Broke, "")
	}
	t.NotObserved("skills/list lists none, which it may", "list a skill")
	return nil
}

func skillsOf(w *offer.Walk) []skill {
	var all []skill
	for _, p := range w.Pages {
		for _, item := range p.Items {
			all = append(all, skill{item, p.Answer})
		}
	}
	return all
}

// eachSkill looks at the listed skills; look tells whether one is a subject of
// the check. Without any the check is not observed, for want of what lacks.
func eachSkill(t *check.T, lacks string, look func(s skill) (subject bool)) {
	seen := false
	for _, s := range listedSkills(t) {
		t.Mark(s.answer)
		seen = look(s) || seen
	}
	if !seen {
		t.NotObserved(lacks, "")
	}
}

// mustBeComplete asserts that an answer is a complete result.
func mustBeComplete(t *check.T, method string, e wire.Entry) {
	t.Mark(e)
	if kind := e.Message.Result().Get("resultType"); kind.Str != "complete" {
		t.Fail(`resultType "complete"`, contract.ShortJSON(kind), "the result of %s has the resultType %s", method, contract.ShortJSON(kind))
	}
}

// mustFollow asserts that a list of several pages can be read to its end. That
// there are several is the condition.
func mustFollow(t *check.T, w *offer.Walk) {
	switch {
	case len(w.Pages) == 0:
		t.NotObserved(w.Method+" gave "+w.Broke, "")
	case w.Loops != "":
		t.Mark(w.Last)
		t.Fail("an end", "the cursor "+wire.Clip(w.Loops, 60)+" again", "%s has no end: page %d gives a cursor that came before", w.Method, len(w.Pages))
	case w.Broke != "" && len(w.Pages) < offer.MaxPages:
		t.Mark(w.Last)
		t.Fail("a page", w.Broke, "%s with the cursor of page %d was answered with %s", w.Method, len(w.Pages), w.Broke)
	case len(w.Pages) == 1:
		t.NotObserved(w.Method+" has one page", "list more than fits one page")
	}
}

func onTwoPages(w *offer.Walk) (uri string, twice bool) {
	first := map[string]int{}
	for i, p := range w.Pages {
		for _, item := range p.Items {
			uri := skill{Result: item}.uri()
			if before, again := first[uri]; uri != "" && again && before != i {
				return uri, true
			}
			first[uri] = i
		}
	}
	return "", false
}

// mustBeCacheable asserts that a result has the members of cacheable results
// (server/utilities/caching#cacheable-results).
func mustBeCacheable(t *check.T, method string, e wire.Entry) {
	t.Mark(e)
	r := e.Message.Result()
	if ttl := r.Get("ttlMs"); !wire.IsInteger(ttl) || ttl.Num < 0 {
		t.Fail("ttlMs, a whole number from 0", contract.ShortJSON(ttl), "ttlMs in the result of %s is %s", method, contract.ShortJSON(ttl))
	}
	if scope := r.Get("cacheScope"); scope.Type != gjson.String || scope.Str != "public" && scope.Str != "private" {
		t.Fail(`cacheScope "public" or "private"`, contract.ShortJSON(scope), "cacheScope in the result of %s is %s", method, contract.ShortJSON(scope))
	}
}
