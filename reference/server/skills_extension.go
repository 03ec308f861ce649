package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The skills extension (SEP-2640), which a library may declare at 2026-07-28. Its
// entries are made from the bytes that resources/read serves.

// skillsExtension identifies the extension, in the capabilities of the server.
const skillsExtension = "io.modelcontextprotocol/skills"

// directoryType is the media type of a directory (SEP-2640, directory resources).
const directoryType = "inode/directory"

// skillMethods returns the methods of the extension by name. The list of skills is
// the same for every client. The content of a directory is not cacheable, and only
// served if the capability directoryRead is declared.
func skillMethods(declared Object) map[string]method {
	table := map[string]method{
		"skills/list": {"skills/list", spec.Stateless, "", listSkills, listHint},
		"skills/get":  {"skills/get", spec.Stateless, "", getSkill, listHint},
	}
	if declared["directoryRead"] == true {
		const name = "resources/directory/read"
		table[name] = method{name, spec.Stateless, "", readDirectory, nil}
	}
	return table
}

// addSkillResources adds the files of the skills to the resources. A file of a
// nested skill is in two skills: it is one resource, which the nested skill lists.
func (l *Features) addSkillResources() {
	byURI := map[string]*Resource{}
	for _, s := range l.Skills {
		for _, f := range s.Files {
			res := s.resource(f)
			if known, twice := byURI[res.URI]; !twice {
				byURI[res.URI] = res
				l.Resources = append(l.Resources, res)
			} else if !res.Unlisted {
				*known = *res
			}
		}
	}
}

// entry describes a skill (SEP-2640, skill entries).
func (s *Skill) entry() Object {
	o := Object{"uri": s.Root + "/" + skillFileName, "frontmatter": s.Frontmatter, "resources": "dynamic"}
	if s.Dynamic {
		return o
	}
	files := []any{}
	for _, f := range s.Files {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(f.Content))
		files = append(files, Object{"uri": s.uri(f), "digest": digest, "size": len(f.Content)})
	}
	o["resources"] = files
	return o
}

// listSkills answers skills/list (SEP-2640, listing skills).
func listSkills(_ context.Context, r *Request) (any, *Error) {
	return paginate(r, "skills", r.conn.features.Skills, func(*Skill) bool { return true }, (*Skill).entry)
}

// getSkill answers skills/get (SEP-2640, getting a skill).
func getSkill(_ context.Context, r *Request) (any, *Error) {
	uri, problem := resourceURI(r)
	if problem != nil {
		return nil, problem
	}
	for _, s := range r.conn.features.Skills {
		if s.Root+"/"+skillFileName == uri {
			return Object{"skill": s.entry()}, nil
		}
	}
	return nil, invalidParams("No skill is served at %s", clip(uri))
}

// readDirectory answers resources/directory/read (SEP-2640, reading directories).
func readDirectory(_ context.Context, r *Request) (any, *Error) {
	uri, problem := resourceURI(r)
	if problem != nil {
		return nil, problem
	}
	children := r.conn.features.children(uri)
	if children == nil {
		return nil, invalidParams("%s is no directory resource", clip(uri))
	}
	return paginateAs(r, "directory "+uri, "resources", children,
		func(res *Resource) bool { return res.isOffered(r) },
		func(res *Resource) Object { return res.listEntry(r) })
}

// children returns the content of a directory of a skill, in the order of the URIs;
// nil if the URI is of no such directory.
func (l *Features) children(uri string) []*Resource {
	found := map[string]*Resource{}
	for _, s := range l.Skills {
		if uri != s.Root && !strings.HasPrefix(uri, s.Root+"/") {
			continue
		}
		for _, f := range s.Files {
			below, ok := strings.CutPrefix(s.uri(f), uri+"/")
			if !ok {
				continue
			}
			name, _, isDirectory := strings.Cut(below, "/")
			child := uri + "/" + name
			if isDirectory {
				found[child] = directoryResource(child, name)
			} else if res := l.resourceAt(child); res != nil {
				found[child] = res
			}
		}
	}
	var out []*Resource
	for _, child := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[child])
	}
	return out
}

func directoryResource(uri, name string) *Resource {
	return &Resource{
		URI: uri, Name: name, Title: name, Description: "A directory", MIME: directoryType, In: spec.Stateless,
	}
}

// resourceAt returns the resource of a URI, listed or not; nil for none.
func (l *Features) resourceAt(uri string) *Resource {
	if i := slices.IndexFunc(l.Resources, func(res *Resource) bool { return res.URI == uri }); i >= 0 {
		return l.Resources[i]
	}
	return nil
}
