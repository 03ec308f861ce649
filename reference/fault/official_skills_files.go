package fault

import (
	"bytes"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func officialSkillGets() []Fault {
	return []Fault{
		{
			Name: "contract-skill-not-got", Does: "does not know a skill in skills/get that it lists",
			CaughtBy: []string{"official.skills.get"},
			Apply:    nothingAt("skills/get", todaySkill+"/SKILL.md", spec.InvalidParams),
		},
		{
			Name: "contract-skill-bare", Does: "answers skills/get with the entry itself, not in a member skill",
			CaughtBy: []string{"official.skills.get"},
			Apply: onResult("skills/get", func(o server.Object) {
				for k, v := range o["skill"].(server.Object) {
					o[k] = v
				}
				delete(o, "skill")
			}),
		},
		{
			Name: "contract-skill-other-uri", Does: "answers skills/get of one skill with the entry of another",
			CaughtBy: []string{"official.skills.get"},
			Also:     map[string]string{"official.skills.get.same": "the entries of two skills differ"},
			Apply: onRequest("skills/get", func(r *server.Request) {
				if r.Params["uri"] == todaySkill+"/SKILL.md" {
					r.Params["uri"] = hoursSkill + "/SKILL.md"
				}
			}),
		},
		{
			Name: "contract-skill-curated", Does: "leaves the license of a skill out of skills/get",
			CaughtBy: []string{"official.skills.get.same"},
			Apply: onResultAt("skills/get", lendingSkill+"/SKILL.md", func(o server.Object) {
				delete(o["skill"].(server.Object)["frontmatter"].(server.Object), "license")
			}),
		},
		{
			Name: "contract-skill-summary", Does: "leaves a file of a skill out of skills/get",
			CaughtBy: []string{"official.skills.get.same"},
			Apply: onResultAt("skills/get", lendingSkill+"/SKILL.md", func(o server.Object) {
				entry := o["skill"].(server.Object)
				entry["resources"] = withoutURI(entry["resources"], loansFile)
			}),
		},
		{
			Name: "contract-skill-cursor", Does: "gives a cursor with the result of skills/get",
			CaughtBy: []string{"official.skills.get.cursor"},
			Apply:    onResult("skills/get", set("nextCursor", "x")),
		},
		{
			Name: "contract-skill-uncached", Does: "leaves cacheScope out of the result of skills/get",
			CaughtBy: []string{"official.skills.get.cached"},
			Apply:    onResult("skills/get", func(o server.Object) { delete(o, "cacheScope") }),
		},
		{
			Name: "contract-skill-unknown-code", Does: "answers skills/get of an unknown skill with error -32603",
			CaughtBy: []string{"official.skills.get.unknown"},
			Apply:    recode("skills/get", spec.InvalidParams, spec.InternalError),
		},
		{
			Name: "contract-skill-of-file", Does: "answers skills/get of any file of a skill with its entry",
			CaughtBy: []string{"official.skills.get.unknown"},
			Apply: onRequest("skills/get", func(r *server.Request) {
				if uri, ok := r.Params["uri"].(string); ok && strings.HasPrefix(uri, lendingSkill+"/") && !strings.HasSuffix(uri, "/SKILL.md") {
					r.Params["uri"] = lendingSkill + "/SKILL.md"
				}
			}),
		},
	}
}

// onSkillText changes the text of a SKILL.md, and with it its digest.
func onSkillText(root, old, new string) apply {
	return onSkill(root, func(s *server.Skill) {
		s.Files[0].Content = bytes.Replace(s.Files[0].Content, []byte(old), []byte(new), 1)
	})
}

// onContents changes what is read of a resource.
func onContents(uri string, edit func(item server.Object)) apply {
	return onResultAt("resources/read", uri, func(o server.Object) {
		for _, item := range o["contents"].([]any) {
			edit(item.(server.Object))
		}
	})
}

func officialSkillFiles() []Fault {
	stamp := lendingSkill + "/assets/stamp.png"
	return []Fault{
		{
			Name: "contract-skill-file-unreadable", Does: "does not serve a file that it lists with a skill",
			CaughtBy: []string{"official.skills.read"},
			Apply:    nothingAt("resources/read", loansFile, spec.InvalidParams),
		},
		{
			Name: "contract-skill-file-reworded", Does: "serves another text of a file than its skill tells the digest of",
			CaughtBy: []string{"official.skills.read.bytes"},
			Apply: onContents(loansFile, func(item server.Object) {
				item["text"] = strings.ToUpper(item["text"].(string))
			}),
		},
		{
			Name: "contract-skill-file-stripped", Does: "serves a text without its last newline, which its skill counts",
			CaughtBy: []string{"official.skills.read.bytes"},
			Apply: onContents(loansFile, func(item server.Object) {
				item["text"] = strings.TrimSpace(item["text"].(string))
			}),
		},
		{
			Name: "contract-skill-blob-size", Does: "tells the size of a file as that of its base64",
			CaughtBy: []string{"official.skills.read.bytes"},
			Apply: onSkillRecord(lendingSkill, stamp, func(record server.Object) {
				record["size"] = (record["size"].(int) + 2) / 3 * 4
			}),
		},
		{
			Name: "contract-skill-unfronted", Does: "serves a SKILL.md that begins with a heading",
			CaughtBy: []string{"official.skills.read.frontmatter"},
			Apply:    onSkillText(hoursSkill, "---\n", "# Opening hours\n\n---\n"),
		},
		{
			Name: "contract-skill-fronted-nameless", Does: "serves a SKILL.md whose frontmatter has no name",
			CaughtBy: []string{"official.skills.read.frontmatter"},
			Also:     map[string]string{"official.skills.read.frontmatter.same": "its entry has one"},
			Apply:    onSkillText(hoursSkill, "name: ", "title: "),
		},
		{
			Name: "contract-skill-redescribed", Does: "describes a skill otherwise in its SKILL.md than in its entry",
			CaughtBy: []string{"official.skills.read.frontmatter.same"},
			Apply:    onSkillText(hoursSkill, "is open.", "is closed."),
		},
		{
			Name: "contract-skill-flattened", Does: "leaves metadata that the SKILL.md has out of the entry of a skill",
			CaughtBy: []string{"official.skills.read.frontmatter.same"},
			Apply: onSkillEntry(lendingSkill, func(entry server.Object) {
				delete(entry["frontmatter"].(server.Object)["metadata"].(server.Object), "audience")
			}),
		},
		{
			Name: "contract-skill-plain", Does: "serves a SKILL.md as text/plain",
			CaughtBy: []string{"official.skills.read.mime-type"},
			Apply:    onSkill(hoursSkill, func(s *server.Skill) { s.Files[0].MIME = "text/plain" }),
		},
		{
			Name: "contract-skill-listed-by-file", Does: "lists a SKILL.md under the name SKILL.md",
			CaughtBy: []string{"official.skills.listed"},
			Apply:    onListed(hoursSkill+"/SKILL.md", set("name", "SKILL.md")),
		},
		{
			Name: "contract-skill-listed-otherwise", Does: "lists a SKILL.md with another description than its skill has",
			CaughtBy: []string{"official.skills.listed"},
			Apply:    onListed(hoursSkill+"/SKILL.md", set("description", "A file")),
		},
		{
			Name: "contract-skill-meta-bare", Does: "lists a SKILL.md with a key without prefix in its _meta",
			CaughtBy: []string{"official.skills.meta"},
			Apply:    onListed(hoursSkill+"/SKILL.md", set("_meta", server.Object{"license": "CC0-1.0"})),
		},
	}
}

// onListed changes the entry of a resource in resources/list.
func onListed(uri string, edit func(entry server.Object)) apply {
	return onEntries("resources/list", "resources", func(entry server.Object) {
		if entry["uri"] == uri {
			edit(entry)
		}
	})
}

const readDirectory = "resources/directory/read"

func officialSkillDirectories() []Fault {
	rows := shelvingSkill + "/rows"
	return []Fault{
		{
			Name: "contract-directory-unknown-method", Does: "does not know resources/directory/read, though it declares it",
			CaughtBy: []string{"official.skills.directory"},
			Also:     map[string]string{"official.skills.directory.refused": "what is no directory is refused with another error"},
			Apply:    instead(readDirectory, unknownMethod),
		},
		{
			Name: "contract-directory-root-only", Does: "reads the directory of a skill and none below it",
			CaughtBy: []string{"official.skills.directory"},
			Apply:    nothingAt(readDirectory, lendingSkill+"/assets/forms", spec.InvalidParams),
		},
		{
			Name: "contract-directory-nameless", Does: "tells the files of a directory without their names",
			CaughtBy: []string{"official.skills.directory"},
			Apply: onResultAt(readDirectory, rows, func(o server.Object) {
				for _, child := range o["resources"].([]any) {
					delete(child.(server.Object), "name")
				}
			}),
		},
		{
			Name: "contract-directory-recursive", Does: "tells of a file that is deeper in a directory",
			CaughtBy: []string{"official.skills.directory.children"},
			Apply: onResultAt(readDirectory, lendingSkill, func(o server.Object) {
				o["resources"] = append(o["resources"].([]any), server.Object{"uri": loansFile, "name": "loans.md", "mimeType": "text/markdown"})
			}),
		},
		{
			Name: "contract-directory-file-hidden", Does: "does not tell of a file that is in a directory",
			CaughtBy: []string{"official.skills.directory.children"},
			Apply: onResultAt(readDirectory, lendingSkill+"/references", func(o server.Object) {
				o["resources"] = withoutURI(o["resources"], loansFile)
			}),
		},
		{
			Name: "contract-directory-typeless", Does: "tells of subdirectories without their media type",
			CaughtBy: []string{"official.skills.directory.subdirectories"},
			Apply: onEntries(readDirectory, "resources", func(child server.Object) {
				if child["mimeType"] == "inode/directory" {
					delete(child, "mimeType")
				}
			}),
		},
		{
			Name: "contract-directory-slash", Does: "ends the URIs of subdirectories in a slash",
			CaughtBy: []string{"official.skills.directory.subdirectories"},
			Apply: onEntries(readDirectory, "resources", func(child server.Object) {
				if child["mimeType"] == "inode/directory" {
					child["uri"] = child["uri"].(string) + "/"
				}
			}),
		},
		{
			Name: "contract-directory-cursor-refused", Does: "refuses the cursor of its own that it gave out for a directory",
			CaughtBy: []string{"official.skills.directory.pages"},
			Apply:    noFurther(readDirectory),
		},
		{
			Name: "contract-directory-endless", Does: "gives the same page of a directory, and the same cursor, again and again",
			CaughtBy: []string{"official.skills.directory.pages"},
			Apply: onRequest(readDirectory, func(r *server.Request) {
				if r.Params["uri"] == rows {
					delete(r.Params, "cursor")
				}
			}),
		},
		{
			Name: "contract-directory-of-file", Does: "reads a file as a directory with nothing in it",
			CaughtBy: []string{"official.skills.directory.refused"},
			Apply: insteadAt(readDirectory, "uri", func(v any) bool { return strings.HasSuffix(asText(v), "/SKILL.md") }, func() (any, *server.Error) {
				return complete(server.Object{"resources": []any{}}), nil
			}),
		},
		{
			Name: "contract-directory-unknown-empty", Does: "reads a directory that does not exist as one with nothing in it",
			CaughtBy: []string{"official.skills.directory.refused"},
			Apply: onError(readDirectory, func(r *server.Request, e *server.Error) (any, *server.Error) {
				if strings.HasSuffix(asText(r.Params["uri"]), "/SKILL.md") {
					return nil, e
				}
				return complete(server.Object{"resources": []any{}}), nil
			}),
		},
	}
}
