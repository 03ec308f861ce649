package fault

import (
	"fmt"
	"maps"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// skillManifests are faults of the resources in the entries of skills.
func skillManifests() []Fault {
	return []Fault{
		{
			Name: "contract-skill-itself-missing", Does: "leaves SKILL.md out of the resources of a skill",
			CaughtBy: []string{"official.skills.manifest.complete"},
			Apply:    onSkillResources(hoursSkill, withoutURI(manifestOf(hoursSkill))),
		},
		{
			Name: "contract-skill-file-twice", Does: "lists a file twice in the resources of a skill",
			CaughtBy: []string{"official.skills.manifest.complete"},
			Apply:    onSkillResources(lendingSkill, func(files []any) []any { return append(files, files[1]) }),
		},
		{
			Name: "contract-skill-file-unlisted", Does: "leaves a file of a directory of a skill out of its resources",
			CaughtBy: []string{"official.skills.manifest.complete"},
			Apply:    onSkillResources(shelvingSkill, withoutURI(shelvingSkill+"/rows/B2.md")),
		},
		{
			Name: "contract-skill-file-outside", Does: "lists a file of another skill in the resources of a skill",
			CaughtBy: []string{"official.skills.manifest.within"},
			Apply: onSkillResources(lendingSkill, func(files []any) []any {
				digest := "sha256:" + strings.Repeat("0", 64)
				return append(files, server.Object{"uri": manifestOf(hoursSkill), "digest": digest, "size": 1})
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
			Apply:    onSkillRecord(lendingSkill, loansFile, remove("digest")),
		},
		{
			Name: "contract-skill-size-text", Does: "writes a size of a skill as a string",
			CaughtBy: []string{"official.skills.manifest.size"},
			Apply: onSkillRecord(lendingSkill, loansFile,
				func(record server.Object) { record["size"] = fmt.Sprint(record["size"]) }),
		},
		{
			Name: "contract-skill-too-many-files", Does: "serves a skill of 513 files",
			CaughtBy: []string{"official.skills.manifest.limits"},
			Apply: onSkill(hoursSkill, func(s *server.Skill) {
				for n := 1; n <= 512; n++ {
					path := fmt.Sprintf("days/%d/%d.txt", n/64, n)
					s.Files = append(s.Files, server.SkillFile{
						Path: path, MIME: "text/plain", Content: []byte("Open.\n"),
					})
				}
			}),
		},
		{
			Name: "contract-skill-too-large", Does: "writes the size of a file of a skill as more than 16 MiB",
			CaughtBy: []string{"official.skills.manifest.limits"},
			Also:     map[string]string{"official.skills.read.bytes": "the file is smaller"},
			Apply:    onSkillRecord(lendingSkill, loansFile, set("size", 16<<20)),
		},
	}
}

// skillGets are faults of skills/get.
func skillGets() []Fault {
	return []Fault{
		{
			Name: "contract-skill-get-refused", Does: "refuses skills/get of a listed skill",
			CaughtBy: []string{"official.skills.get"},
			Apply:    refuseAt("skills/get", manifestOf(todaySkill)),
		},
		{
			Name: "contract-skill-unwrapped", Does: "answers skills/get with the entry without the member skill",
			CaughtBy: []string{"official.skills.get"},
			Apply: onResult("skills/get", func(o server.Object) {
				maps.Copy(o, o["skill"].(server.Object))
				delete(o, "skill")
			}),
		},
		{
			Name: "contract-skill-other-uri", Does: "answers skills/get of one skill with the entry of another",
			CaughtBy: []string{"official.skills.get"},
			Also:     map[string]string{"official.skills.get.same": "the entries of two skills differ"},
			Apply: onRequestWhen(hasParam("skills/get", "uri", manifestOf(todaySkill)), func(r *server.Request) {
				r.Params["uri"] = manifestOf(hoursSkill)
			}),
		},
		{
			Name: "contract-skill-get-without-license", Does: "leaves the license of a skill out of skills/get",
			CaughtBy: []string{"official.skills.get.same"},
			Apply: onResultAt("skills/get", manifestOf(lendingSkill), func(o server.Object) {
				delete(o["skill"].(server.Object)["frontmatter"].(server.Object), "license")
			}),
		},
		{
			Name: "contract-skill-get-without-file", Does: "leaves a file of a skill out of skills/get",
			CaughtBy: []string{"official.skills.get.same"},
			Apply: onResultAt("skills/get", manifestOf(lendingSkill), func(o server.Object) {
				entry := o["skill"].(server.Object)
				entry["resources"] = withoutURI(loansFile)(entry["resources"].([]any))
			}),
		},
		{
			Name: "contract-skill-cursor", Does: "returns a cursor in skills/get",
			CaughtBy: []string{"official.skills.get.cursor"},
			Apply:    onResult("skills/get", set("nextCursor", "x")),
		},
		{
			Name: "contract-skill-uncached", Does: "leaves cacheScope out of skills/get",
			CaughtBy: []string{"official.skills.get.cached"},
			Apply:    onResult("skills/get", remove("cacheScope")),
		},
		{
			Name: "contract-skill-unknown-code", Does: "answers skills/get of an unknown skill with error -32603",
			CaughtBy: []string{"official.skills.get.unknown"},
			Apply:    recode("skills/get", hasCode(spec.InvalidParams), spec.InternalError),
		},
		{
			Name:     "contract-skill-of-file",
			Does:     "answers skills/get of any file of a skill with the entry of the skill",
			CaughtBy: []string{"official.skills.get.unknown"},
			Apply: onRequest("skills/get", func(r *server.Request) {
				uri := asText(r.Params["uri"])
				if strings.HasPrefix(uri, lendingSkill+"/") && !strings.HasSuffix(uri, "/SKILL.md") {
					r.Params["uri"] = manifestOf(lendingSkill)
				}
			}),
		},
	}
}

// skillFiles are faults of the files of skills.
func skillFiles() []Fault {
	const stamp = lendingSkill + "/assets/stamp.png"
	onFileText := func(edit func(text string) string) apply {
		return onRead(loansFile, func(item server.Object) { item["text"] = edit(item["text"].(string)) })
	}
	return []Fault{
		{
			Name: "contract-skill-file-unreadable", Does: "does not serve a file of the resources of a skill",
			CaughtBy: []string{"official.skills.read"},
			Apply:    refuseAt("resources/read", loansFile),
		},
		{
			Name: "contract-skill-file-reworded", Does: "serves another text of a file than that of its digest",
			CaughtBy: []string{"official.skills.read.bytes"},
			Apply:    onFileText(strings.ToUpper),
		},
		{
			Name: "contract-skill-file-stripped", Does: "serves a text without its last newline",
			CaughtBy: []string{"official.skills.read.bytes"},
			Apply:    onFileText(strings.TrimSpace),
		},
		{
			Name: "contract-skill-blob-size", Does: "writes the size of a file as that of its Base64",
			CaughtBy: []string{"official.skills.read.bytes"},
			Apply: onSkillRecord(lendingSkill, stamp, func(record server.Object) {
				record["size"] = (record["size"].(int) + 2) / 3 * 4
			}),
		},
		{
			Name: "contract-skill-without-frontmatter", Does: "serves a SKILL.md that begins with a heading",
			CaughtBy: []string{"official.skills.read.frontmatter"},
			Apply:    onSkillText(hoursSkill, "---\n", "# Opening hours\n\n---\n"),
		},
		{
			Name: "contract-skill-frontmatter-nameless", Does: "serves a SKILL.md whose frontmatter has no name",
			CaughtBy: []string{"official.skills.read.frontmatter"},
			Also:     map[string]string{"official.skills.read.frontmatter.same": "its entry has one"},
			Apply:    onSkillText(hoursSkill, "name: ", "title: "),
		},
		{
			Name:     "contract-skill-description-differs",
			Does:     "describes a skill differently in its SKILL.md and in its entry",
			CaughtBy: []string{"official.skills.read.frontmatter.same"},
			Apply:    onSkillText(hoursSkill, "is open.", "is closed."),
		},
		{
			Name:     "contract-skill-metadata-missing",
			Does:     "leaves metadata of the SKILL.md out of the entry of a skill",
			CaughtBy: []string{"official.skills.read.frontmatter.same"},
			Apply: onFrontmatter(lendingSkill, func(f server.Object) {
				delete(f["metadata"].(server.Object), "audience")
			}),
		},
		{
			Name: "contract-skill-text-plain", Does: "serves a SKILL.md as text/plain",
			CaughtBy: []string{"official.skills.read.mime-type"},
			Apply:    onSkill(hoursSkill, func(s *server.Skill) { s.Files[0].MIME = "text/plain" }),
		},
	}
}

// skillListings are faults of a SKILL.md in resources/list.
func skillListings() []Fault {
	listed := func(edit func(resource server.Object)) apply { return onResource(manifestOf(hoursSkill), edit) }
	return []Fault{
		{
			Name: "contract-skill-listed-by-file", Does: "lists a SKILL.md under the name SKILL.md",
			CaughtBy: []string{"official.skills.listed"},
			Apply:    listed(set("name", "SKILL.md")),
		},
		{
			Name:     "contract-skill-listed-otherwise",
			Does:     "lists a SKILL.md with another description than that of its skill",
			CaughtBy: []string{"official.skills.listed"},
			Apply:    listed(set("description", "A file")),
		},
		{
			Name: "contract-skill-meta-unprefixed", Does: "lists a SKILL.md with a key without prefix in its _meta",
			CaughtBy: []string{"official.skills.meta"},
			Apply:    listed(set("_meta", server.Object{"license": "CC0-1.0"})),
		},
	}
}
