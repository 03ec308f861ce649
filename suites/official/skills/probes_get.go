package skills

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// maxSkills bounds how many of the listed skills are requested on their own and read.
const maxSkills = 10

// getProbes returns the probes of skills/get.
func getProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.get",
			Says: "skills/get of a listed skill returns a complete result with its entry",
			Spec: skillsEnumeration,
			Idle: "no listed skill was requested",
			Hint: listSkill,
			Probe: func(t *check.T) {
				for _, f := range fetchedSkills(t) {
					t.Mark(f.reply.Entry)
					entry, ok := f.entry()
					switch {
					case f.reply.Err != nil:
						t.Fail("an entry", "none", "skills/get of %s: %v", f.skill, f.reply.Err)
					case f.reply.Message.Kind == wire.Error:
						mustStillFail(t, f.skill)
						continue
					case !ok:
						t.Fail("a member skill, an object", f.reply.Message.Summary(), "skills/get of %s has no entry",
							f.skill)
					}
					contract.MustBeString(t, "the uri of the skill in the result of skills/get", entry.Get("uri"),
						f.uri())
					mustBeComplete(t, "skills/get", f.reply.Entry)
					t.Saw()
				}
			},
		},
		{
			ID:   "official.skills.get.same",
			Says: "skills/get returns the same entry of a skill as skills/list",
			Spec: skillsEnumeration,
			Idle: "no entry of skills/get could be compared with skills/list",
			Hint: listSkill,
			// List and entry may change between the requests: only entries that differ when
			// both are requested again break the rule (SEP-2640, getting a skill).
			Probe: func(t *check.T) {
				eachFetched(t, func(f fetchedSkill) bool {
					entry, ok := f.entry()
					if !ok {
						return false
					}
					if _, same := compareEntries(f.skill, entry); same {
						return true
					}
					if !isStillListed(t, f.skill) {
						return false
					}
					fresh, ok := refetched(t, f.skill)
					member, same := compareEntries(f.skill, fresh)
					if ok && !same && isStillListed(t, f.skill) {
						t.Mark(fresh.answer)
						t.Fail(contract.ShortJSON(f.Get(member)), contract.ShortJSON(fresh.Get(member)),
							"the %s of %s differs between skills/list and skills/get", member, f.skill)
					}
					return ok && same
				})
			},
		},
		{
			ID:   "official.skills.get.cursor",
			Says: "the result of skills/get has no cursor",
			Spec: skillsEnumeration,
			Idle: noGetResult,
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachFetched(t, func(f fetchedSkill) bool {
					if v := f.reply.Message.Result().Get("nextCursor"); v.Exists() {
						got := contract.ShortJSON(v)
						t.Fail("no nextCursor", got, "the result of skills/get of %s has the cursor %s", f.skill, got)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.get.cached",
			Says: "the result of skills/get has ttlMs and cacheScope",
			Spec: skillsEnumeration,
			Idle: noGetResult,
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachFetched(t, func(f fetchedSkill) bool {
					mustBeCacheable(t, "skills/get", f.reply.Entry)
					return true
				})
			},
		},
		{
			ID:   "official.skills.get.unknown",
			Says: "skills/get of a URI that is not a skill returns error -32602",
			Spec: skillsEnumeration,
			Idle: "skills/get was not called",
			// Neither a URI that does not exist nor a file of a skill other than its SKILL.md
			// is a skill.
			Probe: func(t *check.T) {
				skillSettings(t)
				mustRefuse(t, "skills/get", unknownSkill, "no skill")
				if uri := otherFile(t); uri != "" {
					mustRefuse(t, "skills/get", uri, "a file of a skill, and no skill")
				}
				t.Saw()
			},
		},
	}
}

// A fetchedSkill is a listed skill and the reply to skills/get for it.
type fetchedSkill struct {
	skill
	reply check.Reply
}

// chosenSkills returns the first listed skills that have a uri, at most maxSkills. It
// notes how many it leaves out.
func chosenSkills(t *check.T) []skill {
	all := slices.DeleteFunc(listedSkills(t), func(s skill) bool { return s.uri() == "" })
	if len(all) > maxSkills {
		t.Note("%d of %d skills were requested and read", maxSkills, len(all))
		all = all[:maxSkills]
	}
	return all
}

// getSkill requests the entry of a skill.
func getSkill(t *check.T, s skill) fetchedSkill {
	return fetchedSkill{s, t.Try("skills/get", check.Params{"uri": s.uri()})}
}

var skillsGetKey = check.NewKey[[]fetchedSkill]("skills/get")

// fetchedSkills requests the entries of the chosen skills once.
func fetchedSkills(t *check.T) []fetchedSkill {
	chosen := chosenSkills(t)
	return check.Once(t, skillsGetKey, func() []fetchedSkill {
		var out []fetchedSkill
		for _, s := range chosen {
			out = append(out, getSkill(t, s))
		}
		return out
	})
}

// entry returns the entry in the reply; ok is false if there is none.
func (f fetchedSkill) entry() (s skill, ok bool) {
	s = skill{f.reply.Message.Result().Get("skill"), f.reply.Entry}
	return s, f.reply.Succeeded() && s.IsObject()
}

// refetched requests the entry of a skill again, as hosts do that find a file changed
// (SEP-2640, verification on read).
func refetched(t *check.T, s skill) (fresh skill, ok bool) { return getSkill(t, s).entry() }

// eachFetched judges the results of skills/get one by one. judge reports whether a
// result was a subject of the rule.
func eachFetched(t *check.T, judge func(f fetchedSkill) bool) {
	for _, f := range fetchedSkills(t) {
		if !f.reply.Succeeded() {
			continue
		}
		t.Mark(f.reply.Entry)
		if judge(f) {
			t.Saw()
		}
	}
}

// mustStillFail fails the check if a skill is still listed and skills/get returns an
// error for it again: a skill may be removed after it was listed.
func mustStillFail(t *check.T, s skill) {
	if !isStillListed(t, s) {
		return
	}
	if r := getSkill(t, s).reply; r.Err == nil && r.Message.Kind == wire.Error {
		t.Mark(r.Entry)
		t.Fail("an entry", r.Message.Summary(), "%s is listed, and skills/get was answered with %s", s,
			r.Message.Summary())
	}
}

// otherFile returns the URI of a file of a listed skill that is not its SKILL.md; ""
// if there is none.
func otherFile(t *check.T) string {
	for _, s := range skillsOf(offer.WalkOnce(t, skillsList)) {
		for _, file := range s.files() {
			uri := file.Get("uri")
			if uri.Type == gjson.String && s.contains(uri.Str) && lastSegment(uri.Str) != "SKILL.md" {
				return uri.Str
			}
		}
	}
	return ""
}

// isStillListed reports whether skills/list, requested again, has the same entry.
func isStillListed(t *check.T, s skill) bool {
	return slices.ContainsFunc(skillsOf(offer.WalkNow(t, skillsList)), func(other skill) bool {
		return contract.EqualJSON(other.Raw, s.Raw)
	})
}

// compareEntries compares two entries and returns the first member that differs. The
// order of the files does not count.
func compareEntries(a, b skill) (member string, same bool) {
	if x, y := a.Get("frontmatter").Raw, b.Get("frontmatter").Raw; x != y && !contract.EqualJSON(x, y) {
		return "frontmatter", false
	}
	if !slices.Equal(sortedFiles(a), sortedFiles(b)) || a.Get("resources").IsArray() != b.Get("resources").IsArray() {
		return "resources", false
	}
	return "", true
}

// sortedFiles returns the files of a skill with digest and size, sorted.
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

// unknownSkill is the URI of a skill that no server has.
const unknownSkill = "skill://mcpcheck-no-such-skill/SKILL.md"
