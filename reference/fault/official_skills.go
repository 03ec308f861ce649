package fault

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// officialSkills are the faults of the skills extension (SEP-2640).
func officialSkills() []Fault {
	faults := slices.Concat(officialSkillOffers(), officialSkillEntries(), officialSkillManifests(), officialSkillGets(), officialSkillFiles(), officialSkillDirectories())
	for i := range faults {
		faults[i].In = spec.Stateless
	}
	return faults
}

const (
	skillsExtension = "io.modelcontextprotocol/skills"

	hoursSkill    = "skill://opening-hours"
	lendingSkill  = "skill://desk/lending"
	shelvingSkill = "skill://shelving"
	todaySkill    = "skill://desk/today"
	loansFile     = lendingSkill + "/references/loans.md"
)

// onSkill changes a skill of the library, and with it all that the server tells
// of it.
func onSkill(root string, edit func(s *server.Skill)) apply {
	return func(o *server.Options) {
		o.Library = func(l *server.Library) {
			for _, s := range l.Skills {
				if s.Root == root {
					edit(s)
				}
			}
		}
	}
}

// moved has the skill under another URI, its name with it.
func moved(root, to string) apply {
	return onSkill(root, func(s *server.Skill) {
		name := func(root string) string { return root[strings.LastIndex(root, "/")+1:] }
		s.Root, s.Frontmatter["name"] = to, name(to)
		s.Files[0].Content = bytes.Replace(s.Files[0].Content, encode(name(root)), encode(name(to)), 1)
	})
}

// onSkillEntry changes the entry of a skill, in skills/list and in skills/get.
func onSkillEntry(root string, edit func(entry server.Object)) apply {
	of := func(entry server.Object) {
		if entry["uri"] == root+"/SKILL.md" {
			edit(entry)
		}
	}
	return all(
		onEntries("skills/list", "skills", of),
		onResult("skills/get", func(o server.Object) { of(o["skill"].(server.Object)) }),
	)
}

// onSkillRecord changes what the entry of a skill tells of a file.
func onSkillRecord(root, uri string, edit func(record server.Object)) apply {
	return onSkillEntry(root, func(entry server.Object) {
		for _, record := range entry["resources"].([]any) {
			if record := record.(server.Object); record["uri"] == uri {
				edit(record)
			}
		}
	})
}

// withoutURI leaves the entries of a URI out of a list.
func withoutURI(list any, uri string) []any {
	return slices.DeleteFunc(list.([]any), func(v any) bool { return v.(server.Object)["uri"] == uri })
}

// aliased has what is at a URI at another one, wherever it is named.
func aliased(uri, alias string) apply {
	from, to := encode(uri), encode(alias)
	return all(
		onFrames(func(next server.FrameSink) server.FrameSink {
			return func(f server.Frame) {
				f.Raw = bytes.ReplaceAll(f.Raw, from, to)
				next(f)
			}
		}),
		onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error { return next(bytes.ReplaceAll(line, to, from)) }
		}),
	)
}

// onSettings changes what the server declares of the extension.
func onSettings(edit func(extensions server.Object)) apply {
	return onResult("server/discover", func(o server.Object) {
		edit(o["capabilities"].(server.Object)["extensions"].(server.Object))
	})
}

// insteadAt answers requests of a method that have a param of that value.
func insteadAt(method, param string, is func(v any) bool, answer func() (any, *server.Error)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if v, ok := r.Params[param]; ok && r.Method == method && is(v) {
				return answer()
			}
			return next(ctx, r)
		}
	})
}

// noFurther refuses the second page of a list.
func noFurther(method string) apply {
	return insteadAt(method, "cursor", func(any) bool { return true }, func() (any, *server.Error) {
		return nil, &server.Error{Code: spec.InvalidParams, Message: "The cursor has expired"}
	})
}

// nothingAt refuses requests of a method for a URI.
func nothingAt(method, uri string, code int) apply {
	return insteadAt(method, "uri", func(v any) bool { return v == uri }, func() (any, *server.Error) {
		return nil, &server.Error{Code: code, Message: "There is nothing at " + uri}
	})
}

// onResultAt changes the results of requests of a method for a URI.
func onResultAt(method, uri string, edit func(o server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && r.Method == method && r.Params["uri"] == uri {
				edit(o)
			}
			return v, problem
		}
	})
}

func officialSkillOffers() []Fault {
	return []Fault{
		{
			Name: "contract-skills-flag-text", Does: "declares directoryRead of the skills extension as a text",
			CaughtBy: []string{"official.skills.declared"},
			Apply:    onSettings(func(o server.Object) { o[skillsExtension] = server.Object{"directoryRead": "yes"} }),
		},
		{
			Name: "contract-skills-config", Does: "declares the settings of the skills extension in an object config",
			CaughtBy: []string{"official.skills.declared"},
			Apply: onSettings(func(o server.Object) {
				o[skillsExtension] = server.Object{"config": server.Object{"directoryRead": true}}
			}),
		},
		{
			Name: "contract-skills-true", Does: "declares the settings of the skills extension as a boolean",
			CaughtBy: []string{"official.skills.declared"},
			Also:     map[string]string{"versioning.extensions.settings": "the settings of every extension are an object"},
			Apply:    onSettings(func(o server.Object) { o[skillsExtension] = true }),
		},
		{
			Name: "contract-skills-without-resources", Does: "declares the skills extension and not the capability resources",
			CaughtBy: []string{"official.skills.declared.resources"},
			Also: map[string]string{
				"resources.capability.declared": "resources are listed",
				"tools.result.embedded":         "a tool embeds one",
				"official.resources.template":   "the contract asks for a template of resources",
			},
			Apply: unspoken("resources"),
		},
		{
			Name: "contract-skills-unknown-method", Does: "does not know skills/list, though it declares the skills extension",
			CaughtBy: []string{"official.skills.list"},
			Apply:    instead("skills/list", unknownMethod),
		},
		{
			Name: "contract-skills-by-uri", Does: "lists its skills as an object by URI",
			CaughtBy: []string{"official.skills.list"},
			Apply: onResult("skills/list", func(o server.Object) {
				skills := server.Object{}
				for _, entry := range o["skills"].([]any) {
					skills[entry.(server.Object)["uri"].(string)] = entry
				}
				o["skills"] = skills
			}),
		},
		{
			Name: "contract-skills-cursor-refused", Does: "refuses the cursor of its own that skills/list gave out",
			CaughtBy: []string{"official.skills.list.pages"},
			Apply:    noFurther("skills/list"),
		},
		{
			Name: "contract-skills-endless", Does: "gives the same page of skills/list, and the same cursor, again and again",
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
						again := as(r, "skills/get")
						again.Params = maps.Clone(r.Params)
						again.Params["uri"] = hoursSkill + "/SKILL.md"
						if got, problem := next(ctx, again); problem == nil {
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
			Apply:    onResult("skills/list", func(o server.Object) { delete(o, "ttlMs") }),
		},
		{
			Name: "contract-skills-scope", Does: `names the cacheScope "shared" in skills/list`,
			CaughtBy: []string{"official.skills.list.cached"},
			Apply:    onResult("skills/list", set("cacheScope", "shared")),
		},
	}
}

func officialSkillEntries() []Fault {
	return []Fault{
		{
			Name: "contract-skill-file-name", Does: "serves the SKILL.md of a skill as skill.md",
			CaughtBy: []string{"official.skills.entry.uri"},
			Apply:    aliased(todaySkill+"/SKILL.md", todaySkill+"/skill.md"),
		},
		{
			Name: "contract-skill-undescribed", Does: "leaves the description out of the entry of a skill",
			CaughtBy: []string{"official.skills.entry.frontmatter"},
			Also:     map[string]string{"official.skills.read.frontmatter.same": "its SKILL.md has one"},
			Apply: onSkillEntry(hoursSkill, func(entry server.Object) {
				delete(entry["frontmatter"].(server.Object), "description")
			}),
		},
		{
			Name: "contract-skill-without-files", Does: "leaves the resources out of the entry of a skill",
			CaughtBy: []string{"official.skills.entry.resources"},
			Apply:    onSkillEntry(hoursSkill, func(entry server.Object) { delete(entry, "resources") }),
		},
		{
			Name: "contract-skill-otherwise-dynamic", Does: `calls the resources of a skill "generated"`,
			CaughtBy: []string{"official.skills.entry.resources"},
			Apply:    onSkillEntry(todaySkill, set("resources", "generated")),
		},
		{
			Name: "contract-skill-misplaced", Does: "serves a skill from a directory that is not called as it is",
			CaughtBy: []string{"official.skills.entry.name"},
			Apply:    onSkill(hoursSkill, func(s *server.Skill) { s.Root = "skill://hours" }),
		},
		{
			Name: "contract-skill-name-upper", Does: "serves a skill with an upper-case letter in its name",
			CaughtBy: []string{"official.skills.entry.name.rules"},
			Apply:    moved(todaySkill, "skill://desk/Today"),
		},
		{
			Name: "contract-skill-name-hyphens", Does: "serves a skill with two hyphens in a row in its name",
			CaughtBy: []string{"official.skills.entry.name.rules"},
			Apply:    moved(hoursSkill, "skill://opening--hours"),
		},
		{
			Name: "contract-skill-name-twice", Does: "serves two skills of the same name",
			CaughtBy: []string{"official.skills.entry.name.unique"},
			Apply:    moved(hoursSkill, "skill://archive/shelving"),
		},
		{
			Name: "contract-skill-authority", Does: "serves a skill under an authority with a port",
			CaughtBy: []string{"official.skills.entry.path"},
			Apply:    moved(hoursSkill, "skill://desk:8080/opening-hours"),
		},
		{
			Name: "contract-skill-segment", Does: "serves a skill under a path with a bare bracket",
			CaughtBy: []string{"official.skills.entry.path"},
			Apply:    moved(hoursSkill, "skill://desk/[all]/opening-hours"),
		},
	}
}

func officialSkillManifests() []Fault {
	return []Fault{
		{
			Name: "contract-skill-itself-missing", Does: "leaves SKILL.md out of the resources of a skill",
			CaughtBy: []string{"official.skills.manifest.complete"},
			Apply: onSkillEntry(hoursSkill, func(entry server.Object) {
				entry["resources"] = withoutURI(entry["resources"], hoursSkill+"/SKILL.md")
			}),
		},
		{
			Name: "contract-skill-file-twice", Does: "lists a file twice in the resources of a skill",
			CaughtBy: []string{"official.skills.manifest.complete"},
			Apply: onSkillEntry(lendingSkill, func(entry server.Object) {
				files := entry["resources"].([]any)
				entry["resources"] = append(files, files[1])
			}),
		},
		{
			Name: "contract-skill-file-unlisted", Does: "leaves a file that is in a directory of a skill out of its resources",
			CaughtBy: []string{"official.skills.manifest.complete"},
			Apply: onSkillEntry(shelvingSkill, func(entry server.Object) {
				entry["resources"] = withoutURI(entry["resources"], shelvingSkill+"/rows/B2.md")
			}),
		},
		{
			Name: "contract-skill-file-outside", Does: "lists a file of another skill in the resources of a skill",
			CaughtBy: []string{"official.skills.manifest.within"},
			Apply: onSkillEntry(lendingSkill, func(entry server.Object) {
				entry["resources"] = append(entry["resources"].([]any), server.Object{
					"uri": hoursSkill + "/SKILL.md", "digest": "sha256:" + strings.Repeat("0", 64), "size": 1,
				})
			}),
		},
		{
			Name: "contract-skill-digest-upper", Does: "writes a digest of a skill in upper case",
			CaughtBy: []string{"official.skills.manifest.digest"},
			Apply: onSkillRecord(lendingSkill, loansFile, func(record server.Object) {
				record["digest"] = "sha256:" + strings.ToUpper(strings.TrimPrefix(record["digest"].(string), "sha256:"))
			}),
		},
		{
			Name: "contract-skill-digest-missing", Does: "leaves a digest of a skill out",
			CaughtBy: []string{"official.skills.manifest.digest"},
			Apply:    onSkillRecord(lendingSkill, loansFile, func(record server.Object) { delete(record, "digest") }),
		},
		{
			Name: "contract-skill-size-text", Does: "writes a size of a skill as a text",
			CaughtBy: []string{"official.skills.manifest.size"},
			Apply:    onSkillRecord(lendingSkill, loansFile, func(record server.Object) { record["size"] = fmt.Sprint(record["size"]) }),
		},
		{
			Name: "contract-skill-too-many-files", Does: "serves a skill of 513 files",
			CaughtBy: []string{"official.skills.manifest.limits"},
			Apply: onSkill(hoursSkill, func(s *server.Skill) {
				for n := 1; n <= 512; n++ {
					s.Files = append(s.Files, server.SkillFile{Path: fmt.Sprintf("days/%d/%d.txt", n/64, n), MIME: "text/plain", Content: []byte("Open.\n")})
				}
			}),
		},
		{
			Name: "contract-skill-too-large", Does: "serves a skill whose files are told to have more than 16 MiB",
			CaughtBy: []string{"official.skills.manifest.limits"},
			Also:     map[string]string{"official.skills.read.bytes": "the file is not that large"},
			Apply:    onSkillRecord(lendingSkill, loansFile, set("size", 16<<20)),
		},
	}
}
