package skills

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// listProbes returns the probes of the declaration of the extension and of the list of
// skills.
func listProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.declared",
			Says: "the settings of the skills extension are an object, and its member directoryRead is a boolean",
			Spec: skillsEnumeration,
			Idle: notDeclared,
			Probe: func(t *check.T) {
				settings := skillSettings(t)
				if !settings.IsObject() {
					t.Fail("an object", contract.ShortJSON(settings),
						"the settings of %s are %s, not an object", skillsExtension, wire.TypeName(settings))
				}
				if v := settings.Get("directoryRead"); v.Exists() && !v.IsBool() {
					t.Fail("a boolean", contract.ShortJSON(v), "directoryRead is %s, not a boolean",
						contract.ShortJSON(v))
				}
				if v := settings.Get("config"); v.IsObject() {
					t.Fail("settings in the object itself", contract.ShortJSON(settings),
						"the settings of %s are in an object config, which the extension does not define",
						skillsExtension)
				}
				t.Saw()
			},
		},
		{
			ID:   "official.skills.declared.resources",
			Says: "a server that declares the skills extension declares the capability resources",
			Spec: skillsEnumeration,
			Idle: notDeclared,
			Probe: func(t *check.T) {
				skillSettings(t)
				if v := t.Opening().Capabilities.Get("resources"); !v.IsObject() {
					t.Fail("the capability resources", contract.ShortJSON(t.Opening().Capabilities),
						"the server declares %s and not the capability resources", skillsExtension)
				}
				t.Saw()
			},
		},
		{
			ID:   "official.skills.list",
			Says: "skills/list returns a complete result with an array skills",
			Spec: skillsEnumeration,
			Idle: noList,
			Probe: func(t *check.T) {
				skillSettings(t)
				w := offer.WalkOnce(t, skillsList)
				if len(w.Pages) == 0 {
					t.Mark(w.Last)
					t.Fail("a result with an array skills", w.Failure, "skills/list was answered with %s", w.Failure)
				}
				for _, p := range w.Pages {
					mustBeComplete(t, "skills/list", p.Answer)
					t.Saw()
				}
			},
		},
		{
			ID:   "official.skills.list.pages",
			Says: "the pages of skills/list have an end, and no skill is on two of them",
			Spec: skillsEnumeration,
			Idle: "skills/list has one page",
			Hint: "list more skills than fit on one page",
			// A list may change while it is read: only a skill that is on two pages when the
			// list is read a second time breaks the rule.
			Probe: func(t *check.T) {
				w := readList(t)
				if !mustReachEnd(t, w) {
					return
				}
				if _, repeated := repeatedSkill(w); repeated {
					w = offer.WalkNow(t, skillsList)
				}
				if uri, repeated := repeatedSkill(w); repeated {
					uri = wire.Clip(uri, 120)
					t.Fail("each skill on one page", contract.Quote(uri), "%s is on two pages of skills/list", uri)
				}
				if len(w.Pages) > 1 {
					t.Saw()
				}
			},
		},
		{
			ID:   "official.skills.list.cached",
			Says: "each page of skills/list has ttlMs and cacheScope",
			Spec: skillsEnumeration,
			Idle: noList,
			Probe: func(t *check.T) {
				for _, p := range readList(t).Pages {
					mustBeCacheable(t, "skills/list", p.Answer)
					t.Saw()
				}
			},
		},
	}
}
