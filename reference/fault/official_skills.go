package fault

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// officialSkills are the faults of the skills extension (SEP-2640).
func officialSkills() []Fault {
	return slices.Concat(skillSettings(), skillLists(), skillEntries(), skillNames(), skillManifests(), skillGets(),
		skillFiles(), skillListings(), skillDirectories(), notDirectories(), skillDirectoryPages())
}

const (
	skillsExtension = "io.modelcontextprotocol/skills"

	hoursSkill    = "skill://opening-hours"
	lendingSkill  = "skill://desk/lending"
	shelvingSkill = "skill://shelving"
	todaySkill    = "skill://desk/today"
	loansFile     = lendingSkill + "/references/loans.md"
)

// manifestOf returns the URI of the SKILL.md of a skill.
func manifestOf(root string) string { return root + "/SKILL.md" }

// onSkill changes a skill of the library, and with it all that the server sends of it.
func onSkill(root string, edit func(s *server.Skill)) apply {
	return onLibrary(func(l *server.Features) {
		for _, s := range l.Skills {
			if s.Root == root {
				edit(s)
			}
		}
	})
}

// moveSkill gives a skill another URI, and the name of that URI.
func moveSkill(root, to string) apply {
	return onSkill(root, func(s *server.Skill) {
		name := func(root string) string { return root[strings.LastIndex(root, "/")+1:] }
		s.Root, s.Frontmatter["name"] = to, name(to)
		s.Files[0].Content = bytes.Replace(s.Files[0].Content, wire.Encode(name(root)), wire.Encode(name(to)), 1)
	})
}

// onSkillText changes the text of a SKILL.md, and with it its digest.
func onSkillText(root, from, to string) apply {
	return onSkill(root, func(s *server.Skill) {
		s.Files[0].Content = bytes.Replace(s.Files[0].Content, []byte(from), []byte(to), 1)
	})
}

// onSkillEntry changes the entry of a skill, in skills/list and in skills/get.
func onSkillEntry(root string, edit func(entry server.Object)) apply {
	return combine(
		onEntry("skills/list", "skills", "uri", manifestOf(root), edit),
		onResult("skills/get", func(o server.Object) {
			if entry := o["skill"].(server.Object); entry["uri"] == manifestOf(root) {
				edit(entry)
			}
		}),
	)
}

// onFrontmatter changes the frontmatter in the entry of a skill.
func onFrontmatter(root string, edit func(frontmatter server.Object)) apply {
	return onSkillEntry(root, func(entry server.Object) { edit(entry["frontmatter"].(server.Object)) })
}

// onSkillResources changes the resources in the entry of a skill.
func onSkillResources(root string, edit func(resources []any) []any) apply {
	return onSkillEntry(root, func(entry server.Object) { entry["resources"] = edit(entry["resources"].([]any)) })
}

// onSkillRecord changes the record of a file in the resources of a skill.
func onSkillRecord(root, uri string, edit func(record server.Object)) apply {
	return onSkillResources(root, func(resources []any) []any {
		for _, record := range resources {
			if record := record.(server.Object); record["uri"] == uri {
				edit(record)
			}
		}
		return resources
	})
}

// withoutURI returns a function that leaves the entries of a URI out of an array.
func withoutURI(uri string) func(entries []any) []any {
	return func(entries []any) []any {
		return slices.DeleteFunc(entries, func(v any) bool { return v.(server.Object)["uri"] == uri })
	}
}

// refuseAt refuses requests of a method for a URI.
func refuseAt(method, uri string) apply {
	return answerWhen(hasParam(method, "uri", uri), failWith(spec.InvalidParams, "There is nothing at "+uri))
}

// refuseCursors refuses requests of a method for further pages.
func refuseCursors(method string) apply {
	return answerWhen(func(r *server.Request) bool { return r.Method == method && hasCursor(r) },
		failWith(spec.InvalidParams, "The cursor has expired"))
}

// onResultAt changes the results of requests of a method for a URI.
func onResultAt(method, uri string, edit func(result server.Object)) apply {
	return onResultWhen(hasParam(method, "uri", uri), func(_ *server.Request, result server.Object) { edit(result) })
}

// skillSettings are faults of the declared extension.
func skillSettings() []Fault {
	declare := func(settings any) apply {
		return onResult("server/discover", func(o server.Object) {
			o["capabilities"].(server.Object)["extensions"].(server.Object)[skillsExtension] = settings
		})
	}
	return []Fault{
		{
			Name: "contract-skills-flag-text", Does: "declares directoryRead of the skills extension as a string",
			CaughtBy: []string{"official.skills.declared"},
			Apply:    declare(server.Object{"directoryRead": "yes"}),
		},
		{
			Name: "contract-skills-config", Does: "declares the settings of the skills extension in a member config",
			CaughtBy: []string{"official.skills.declared"},
			Apply:    declare(server.Object{"config": server.Object{"directoryRead": true}}),
		},
		{
			Name: "contract-skills-true", Does: "declares the settings of the skills extension as true",
			CaughtBy: []string{"official.skills.declared"},
			Also: map[string]string{
				"versioning.extensions.settings": "the settings of every extension are an object",
			},
			Apply: declare(true),
		},
		{
			Name:     "contract-skills-without-resources",
			Does:     "declares the skills extension without the capability resources",
			CaughtBy: []string{"official.skills.declared.resources"},
			Also: map[string]string{
				"resources.capability.declared": "resources are listed",
				"tools.result.embedded":         "a tool embeds one",
				"official.resources.template":   "the contract has a resource template",
			},
			Apply: undeclaredList("resources"),
		},
	}
}

// skillLists are faults of skills/list.
func skillLists() []Fault {
	return []Fault{
		{
			Name:     "contract-skills-unknown-method",
			Does:     "declares the skills extension and answers skills/list with error -32601",
			CaughtBy: []string{"official.skills.list"},
			Apply:    answerInstead("skills/list", unknownMethod),
		},
		{
			Name: "contract-skills-by-uri", Does: "lists its skills as an object by URI",
			CaughtBy: []string{"official.skills.list"},
			Apply:    arrayToObject("skills/list", "skills", "uri"),
		},
		{
			Name: "contract-skills-cursor-refused", Does: "refuses the cursors of skills/list",
			CaughtBy: []string{"official.skills.list.pages"},
			Apply:    refuseCursors("skills/list"),
		},
		{
			Name: "contract-skills-endless", Does: "answers skills/list with the same page and cursor every time",
			CaughtBy: []string{"official.skills.list.pages"},
			Apply:    onRequest("skills/list", func(r *server.Request) { delete(r.Params, "cursor") }),
		},
		{
			Name: "contract-skill-on-two-pages", Does: "lists a skill on two pages of skills/list",
			CaughtBy: []string{"official.skills.list.pages"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if o, ok := v.(server.Object); ok && r.Method == "skills/list" && r.Params["cursor"] != nil {
						get := withMethod(r, "skills/get")
						get.Params = maps.Clone(r.Params)
						get.Params["uri"] = manifestOf(hoursSkill)
						if got, problem := next(ctx, get); problem == nil {
							o["skills"] = append(o["skills"].([]any), got.(server.Object)["skill"])
						}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "contract-skills-uncached", Does: "leaves ttlMs out of skills/list",
			CaughtBy: []string{"official.skills.list.cached"},
			Apply:    onResult("skills/list", remove("ttlMs")),
		},
		{
			Name: "contract-skills-scope", Does: `writes the cacheScope "shared" in skills/list`,
			CaughtBy: []string{"official.skills.list.cached"},
			Apply:    onResult("skills/list", set("cacheScope", "shared")),
		},
	}
}

// skillEntries are faults of the entries of skills.
func skillEntries() []Fault {
	return []Fault{
		{
			Name: "contract-skill-file-name", Does: "serves the SKILL.md of a skill as skill.md",
			CaughtBy: []string{"official.skills.entry.uri"},
			Apply:    serveAs(manifestOf(todaySkill), todaySkill+"/skill.md"),
		},
		{
			Name: "contract-skill-undescribed", Does: "leaves the description out of the entry of a skill",
			CaughtBy: []string{"official.skills.entry.frontmatter"},
			Also:     map[string]string{"official.skills.read.frontmatter.same": "its SKILL.md has one"},
			Apply:    onFrontmatter(hoursSkill, remove("description")),
		},
		{
			Name: "contract-skill-without-files", Does: "leaves the resources out of the entry of a skill",
			CaughtBy: []string{"official.skills.entry.resources"},
			Apply:    onSkillEntry(hoursSkill, remove("resources")),
		},
		{
			Name:     "contract-skill-resources-word",
			Does:     "writes the resources of a skill as the unknown word generated",
			CaughtBy: []string{"official.skills.entry.resources"},
			Apply:    onSkillEntry(todaySkill, set("resources", "generated")),
		},
	}
}

// serveAs serves what has a URI under another one, wherever a message names it.
func serveAs(uri, other string) apply {
	from, to := wire.Encode(uri), wire.Encode(other)
	return combine(
		rewriteFrames(anyFrame, func(f server.Frame) []byte { return bytes.ReplaceAll(f.Raw, from, to) }),
		rewriteLines(func(m wire.Message) []byte { return bytes.ReplaceAll(m.Raw, to, from) }),
	)
}

// skillNames are faults of the names and URIs of skills.
func skillNames() []Fault {
	return []Fault{
		{
			Name: "contract-skill-misplaced", Does: "serves a skill from a directory with another name",
			CaughtBy: []string{"official.skills.entry.name"},
			Apply:    onSkill(hoursSkill, func(s *server.Skill) { s.Root = "skill://hours" }),
		},
		{
			Name: "contract-skill-name-upper", Does: "serves a skill whose name has an upper-case letter",
			CaughtBy: []string{"official.skills.entry.name.rules"},
			Apply:    moveSkill(todaySkill, "skill://desk/Today"),
		},
		{
			Name: "contract-skill-name-hyphens", Does: "serves a skill whose name has two hyphens in a row",
			CaughtBy: []string{"official.skills.entry.name.rules"},
			Apply:    moveSkill(hoursSkill, "skill://opening--hours"),
		},
		{
			Name: "contract-skill-name-twice", Does: "serves two skills of the same name",
			CaughtBy: []string{"official.skills.entry.name.unique"},
			Apply:    moveSkill(hoursSkill, "skill://archive/shelving"),
		},
		{
			Name: "contract-skill-authority", Does: "serves a skill under an authority with a port",
			CaughtBy: []string{"official.skills.entry.path"},
			Apply:    moveSkill(hoursSkill, "skill://desk:8080/opening-hours"),
		},
		{
			Name: "contract-skill-segment", Does: "serves a skill under a path with a bracket that is not escaped",
			CaughtBy: []string{"official.skills.entry.path"},
			Apply:    moveSkill(hoursSkill, "skill://desk/[all]/opening-hours"),
		},
	}
}
