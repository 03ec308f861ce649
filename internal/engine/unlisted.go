package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A givenList is the names that the user gives values for, of which a server has a list.
type givenList struct {
	what, member, key string
	names             []string
}

// givenLists returns the lists for which the user gives values.
func (e *serverSubject) givenLists() []givenList {
	given := e.o.Given
	all := []givenList{
		{"tool", "tools", "name", slices.Sorted(maps.Keys(given.Tools))},
		{"prompt", "prompts", "name", slices.Sorted(maps.Keys(given.Prompts))},
		{"template", "resourceTemplates", "uriTemplate", slices.Sorted(maps.Keys(given.Templates))},
	}
	return slices.DeleteFunc(all, func(l givenList) bool { return len(l.names) == 0 })
}

// unlisted tells what the user gives values for and the server, where it was
// asked, lists at no revision: no fault of the server, whose lists may change,
// but often a name that was misspelt.
func (e *serverSubject) unlisted() []string {
	var out []string
	for _, list := range e.givenLists() {
		listed, asked := e.listed[list.member]
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

// noteLists notes the entries of the lists that the sessions of a pool show and for which
// the user gives values.
func (e *serverSubject) noteLists(pool *session.Pool) {
	lists := e.givenLists()
	if len(lists) == 0 {
		return
	}
	for _, s := range pool.Sessions() {
		for _, entry := range s.EntriesFrom(0) {
			if entry.From != wire.Server {
				continue
			}
			for _, m := range entry.Message.Elements() {
				for _, list := range lists {
					e.noteList(list, m)
				}
			}
		}
	}
}

// noteList notes the entries of a list that a message shows.
func (e *serverSubject) noteList(list givenList, m wire.Message) {
	items := m.Result().Get(list.member)
	if m.Kind != wire.Result || !items.IsArray() {
		return
	}
	if e.listed[list.member] == nil {
		e.listed[list.member] = map[string]bool{}
	}
	for _, item := range items.Array() {
		e.listed[list.member][item.Get(list.key).String()] = true
	}
}
