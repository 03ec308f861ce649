package skills

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// mostSkills bounds how many of the listed skills are asked for on their own,
// and are read.
const mostSkills = 10

// officialSkillGets are what skills/get says of one skill.
func officialSkillGets() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.get",
			Says: "skills/get of a skill that is listed is answered with a complete result that has its entry",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				for _, g := range gotSkills(t) {
					t.Mark(g.got)
					entry, ok := g.entry()
					switch {
					case g.err != nil:
						t.Fail("an entry", "none", "skills/get of %s: %v", g.skill, g.err)
					case g.got.Message.Kind == wire.Error:
						if !stillListed(t, g.skill) {
							continue
						}
						if e, err := getSkill(t, g.uri()); err == nil && e.Message.Kind == wire.Error {
							t.Mark(e)
							t.Fail("an entry", e.Message.Summary(), "%s is listed, and skills/get was answered with %s", g.skill, e.Message.Summary())
						}
						continue
					case !ok:
						t.Fail("a member skill, an object", g.got.Message.Summary(), "skills/get of %s was answered with %s", g.skill, g.got.Message.Summary())
					}
					contract.MustDeclare(t, "the uri of the skill in the result of skills/get", entry.Get("uri"), g.uri())
					mustBeComplete(t, "skills/get", g.got)
				}
			},
		},
		{
			ID:   "official.skills.get.same",
			Says: "the entry of a skill in skills/get is the one in skills/list",
			Spec: skillsEnumeration,
			// skillsGotSame asks again for both before it says that they differ: each is of
			// one moment (SEP-2640, getting a skill).
			Probe: func(t *check.T) {
				eachGot(t, func(g gotSkill) {
					entry, ok := g.entry()
					if !ok {
						return
					}
					if _, same := sameSkill(g.skill, entry); same || !stillListed(t, g.skill) {
						return
					}
					fresh, ok := refreshed(t, g.skill)
					if member, same := sameSkill(g.skill, fresh); ok && !same && stillListed(t, g.skill) {
						t.Mark(fresh.answer)
						t.Fail(contract.ShortJSON(g.Get(member)), contract.ShortJSON(fresh.Get(member)), "the %s of %s differ between skills/list and skills/get", member, g.skill)
					}
				})
			},
		},
		{
			ID:   "official.skills.get.cursor",
			Says: "the result of skills/get has no cursor",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachGot(t, func(g gotSkill) {
					if v := g.got.Message.Result().Get("nextCursor"); v.Exists() {
						t.Fail("no nextCursor", contract.ShortJSON(v), "the result of skills/get of %s has the cursor %s", g.skill, contract.ShortJSON(v))
					}
				})
			},
		},
		{
			ID:   "official.skills.get.cached",
			Says: "the result of skills/get has ttlMs and cacheScope",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachGot(t, func(g gotSkill) { mustBeCacheable(t, "skills/get", g.got) })
			},
		},
		{
			ID:   "official.skills.get.unknown",
			Says: "skills/get of what is no skill is answered with error -32602",
			Spec: skillsEnumeration,
			// skillsUnknown asks for a skill that there is not, and for a file of one that is
			// no SKILL.md.
			Probe: func(t *check.T) {
				skillSettings(t)
				mustRefuse(t, "skills/get", noSuchSkill, "no skill")
				for _, s := range skillsOf(offer.Walked(t, skillsList)) {
					for _, file := range s.files() {
						if uri := file.Get("uri"); uri.Type == gjson.String && s.within(uri.Str) && lastSegment(uri.Str) != "SKILL.md" {
							mustRefuse(t, "skills/get", uri.Str, "a file of a skill, and no skill")
							return
						}
					}
				}
			},
		},
	}
}

// A gotSkill is a listed skill, and what skills/get came to.
type gotSkill struct {
	skill
	got wire.Entry
	err error
}

// chosenSkills are the listed skills that are looked at more closely: the first
// that have a uri. What is left out is noted.
func chosenSkills(t *check.T) []skill {
	all := slices.DeleteFunc(listedSkills(t), func(s skill) bool { return s.uri() == "" })
	if len(all) == 0 {
		t.NotObserved("no skill has a uri", "")
	}
	if len(all) > mostSkills {
		t.Note("%d of %d skills were asked for and read", mostSkills, len(all))
		all = all[:mostSkills]
	}
	return all
}

func getSkill(t *check.T, uri string) (wire.Entry, error) {
	return t.Try("skills/get", check.Params{"uri": uri}).Get()
}

var skillsGetKey = check.NewKey[[]gotSkill]("skills/get")

// gotSkills asks for the chosen skills once.
func gotSkills(t *check.T) []gotSkill {
	chosen := chosenSkills(t)
	return check.Once(t, skillsGetKey, func() []gotSkill {
		var out []gotSkill
		for _, s := range chosen {
			e, err := getSkill(t, s.uri())
			out = append(out, gotSkill{s, e, err})
		}
		return out
	})
}

// entry returns the entry in the answer; ok is false where there is none.
func (g gotSkill) entry() (s skill, ok bool) {
	s = skill{g.got.Message.Result().Get("skill"), g.got}
	return s, g.err == nil && g.got.Message.Kind == wire.Result && s.IsObject()
}

// refreshed asks for a skill anew, as hosts do that find a file changed
// (SEP-2640, verification on read).
func refreshed(t *check.T, s skill) (fresh skill, ok bool) {
	e, err := getSkill(t, s.uri())
	return gotSkill{s, e, err}.entry()
}

// eachGot looks at the results of skills/get.
func eachGot(t *check.T, look func(g gotSkill)) {
	seen := false
	for _, g := range gotSkills(t) {
		if g.err != nil || g.got.Message.Kind != wire.Result {
			continue
		}
		t.Mark(g.got)
		look(g)
		seen = true
	}
	if !seen {
		t.NotObserved("skills/get gave no result", "")
	}
}

// stillListed tells whether the list has the same entry, read anew.
func stillListed(t *check.T, s skill) bool {
	return slices.ContainsFunc(skillsOf(offer.WalkNow(t, skillsList)), func(other skill) bool { return contract.EqualJSON(other.Raw, s.Raw) })
}

// sameSkill compares entries; the files may come in another order.
func sameSkill(a, b skill) (member string, same bool) {
	if x, y := a.Get("frontmatter").Raw, b.Get("frontmatter").Raw; x != y && !contract.EqualJSON(x, y) {
		return "frontmatter", false
	}
	if !slices.Equal(sortedFiles(a), sortedFiles(b)) || a.Get("resources").IsArray() != b.Get("resources").IsArray() {
		return "resources", false
	}
	return "", true
}

func sortedFiles(s skill) []string {
	files := map[string]bool{}
	for i, file := range s.files() {
		uri := file.Get("uri").String()
		if uri == "" {
			uri = fmt.Sprint(i)
		}
		files[strings.Join([]string{uri, file.Get("digest").Raw, file.Get("size").String()}, " ")] = true
	}
	return slices.Sorted(maps.Keys(files))
}

// noSuchSkill is a skill that nobody has.
const noSuchSkill = "skill://mcpcheck-no-such-skill/SKILL.md"

// mustRefuse asserts that a method does not know a URI.
func mustRefuse(t *check.T, method, uri, what string) {
	m := t.Request(method, check.Params{"uri": uri})
	if code, _ := m.Code(); m.Kind != wire.Error || code != spec.InvalidParams {
		t.Fail("error -32602", m.Summary(), "%s of %s, which is %s, was answered with %s", method, wire.Clip(uri, 120), what, m.Summary())
	}
}
