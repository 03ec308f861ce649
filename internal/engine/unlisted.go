package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// unlisted tells what the user gives values for and the server, where it was
// asked, lists at no revision: no fault of the server, whose lists may change,
// but often a name that was misspelt.
func (e *serverSubject) unlisted() []string {
	given := e.o.Given
	var out []string
	for _, list := range []struct {
		what, member, key string
		names             []string
	}{
		{"tool", "tools", "name", slices.Sorted(maps.Keys(given.Tools))},
		{"prompt", "prompts", "name", slices.Sorted(maps.Keys(given.Prompts))},
		{"template", "resourceTemplates", "uriTemplate", slices.Sorted(maps.Keys(given.Templates))},
	} {
		if len(list.names) == 0 {
			continue
		}
		listed, asked := e.listed(list.member, list.key)
		for _, name := range list.names {
			if asked && !listed[name] {
				out = append(out, fmt.Sprintf(
					"the configuration gives values for the %s %q, which the server does not list",
					list.what, wire.Clip(name, 80)))
			}
		}
	}
	return out
}

// listed returns the entries of a list that were seen in any session, and
// whether there was such a list.
func (e *serverSubject) listed(member, key string) (names map[string]bool, asked bool) {
	names = map[string]bool{}
	for _, pool := range e.pools {
		for _, s := range pool.Sessions() {
			for _, entry := range s.EntriesFrom(0) {
				if entry.From != wire.Server {
					continue
				}
				for _, m := range entry.Message.Elements() {
					list := m.Result().Get(member)
					if m.Kind != wire.Result || !list.IsArray() {
						continue
					}
					asked = true
					for _, item := range list.Array() {
						names[item.Get(key).String()] = true
					}
				}
			}
		}
	}
	return names, asked
}
