package server

import (
	"maps"
	"path"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Skill is a directory of files with instructions for an agent (SEP-2640, skill
// format).
type Skill struct {
	Root    string      // URI of the directory, without a slash at its end
	Files   []SkillFile // SKILL.md first
	Dynamic bool        // its content changes, so that no digests are published
	// Frontmatter is the frontmatter of SKILL.md.
	Frontmatter Object
}

// A SkillFile is one file of a skill.
type SkillFile struct {
	Path, MIME string // Path is relative to the directory of the skill
	Content    []byte
	Binary     bool // read as a blob
}

// skillFileName is the name of the file that every skill has.
const skillFileName = "SKILL.md"

// newSkill makes a skill whose name is the last segment of its path (SEP-2640,
// resource mapping).
func newSkill(root, description string, more Object, body string, files ...SkillFile) *Skill {
	front := Object{"name": path.Base(root), "description": description}
	maps.Copy(front, more)
	return &Skill{Root: root, Frontmatter: front, Files: append([]SkillFile{skillMarkdown(front, body)}, files...)}
}

// skillMarkdown returns a SKILL.md. The values of its frontmatter are written as
// JSON, which is YAML, so that the file and the entry of the skill agree.
func skillMarkdown(front Object, body string) SkillFile {
	s := "---\n"
	for _, k := range slices.Sorted(maps.Keys(front)) {
		s += k + ": " + string(wire.Encode(front[k])) + "\n"
	}
	return markdownFile(skillFileName, s+"---\n\n"+body)
}

func markdownFile(path, text string) SkillFile {
	return SkillFile{Path: path, MIME: markdown, Content: []byte(text)}
}

// uri returns the URI of a file of the skill.
func (s *Skill) uri(f SkillFile) string { return s.Root + "/" + f.Path }

// resource returns a file as a resource. SKILL.md is listed under the name and
// description of the skill (SEP-2640, resource metadata). The other files are found
// in the entry of the skill and in its directories.
func (s *Skill) resource(f SkillFile) *Resource {
	uri := s.uri(f)
	name := stringOf(s.Frontmatter["name"])
	res := &Resource{
		URI: uri, Name: path.Base(f.Path), Title: f.Path, Description: "A file of the skill " + name,
		MIME: f.MIME, Size: len(f.Content), Unlisted: true, In: spec.Stateless,
		Read: func(*ResourceRead) []Object {
			if f.Binary {
				return []Object{blobContents(uri, f.MIME, f.Content)}
			}
			return []Object{textContents(uri, f.MIME, string(f.Content))}
		},
	}
	if f.Path == skillFileName {
		res.Name, res.Title, res.Unlisted = name, "Skill: "+name, false
		res.Description = stringOf(s.Frontmatter["description"])
		if license := s.Frontmatter["license"]; license != nil {
			res.Meta = Object{"io.modelcontextprotocol.skills/license": license}
		}
	}
	return res
}
