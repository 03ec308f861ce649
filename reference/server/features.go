package server

import (
	"maps"
	"slices"
	"sync"
)

// Features are what the server offers: its identity, capabilities and features.
// Faults may change them before the server starts; afterwards only the loans and the
// reading room change.
type Features struct {
	Info         Object // Implementation
	Capabilities Object // ServerCapabilities
	Instructions string
	PageSize     int
	Tools        []*Tool
	Resources    []*Resource
	Templates    []*Template
	Prompts      []*Prompt
	Skills       []*Skill

	toolPageSize int               // entries of a page of tools; 0: PageSize
	official     *officialFeatures // nil unless the public conformance contract is offered

	mu              sync.Mutex
	loans           map[string]string // reader by id of the book
	readingRoomOpen bool
}

// A library holds the features that have no state.
type library struct {
	info         Object
	capabilities Object
	tools        []*Tool
	resources    []*Resource
	templates    []*Template
	prompts      []*Prompt
}

// newLibrary returns the library. An append to one of its lists copies it.
func newLibrary() library {
	return library{
		info: Object{
			"name": "harbour-street-library", "title": "Harbour Street Library", "version": "1.0.0",
			"description": "The lending desk of a small library that never was",
			"websiteUrl":  "https://library.example/desk",
			"icons":       icons(),
		},
		capabilities: Object{
			"logging":     Object{},
			"completions": Object{},
			"prompts":     Object{"listChanged": true},
			"resources":   Object{"subscribe": true, "listChanged": true},
			"tools":       Object{"listChanged": true},
			"tasks": Object{
				"list": Object{}, "cancel": Object{}, "requests": Object{"tools": Object{"call": Object{}}},
			},
		},
		tools:     slices.Clip(libraryTools()),
		resources: slices.Clip(libraryResources()),
		templates: slices.Clip(libraryTemplates()),
		prompts:   slices.Clip(libraryPrompts()),
	}
}

// sharedLibrary returns the library of all connections without the hook
// ChangeFeatures.
var sharedLibrary = sync.OnceValue(newLibrary)

// newFeatures returns the features of a connection. The hook ChangeFeatures may
// change all of them, so that it gets a library of its own.
func newFeatures(o Options) *Features {
	l := sharedLibrary()
	if o.ChangeFeatures != nil {
		l = newLibrary()
	}
	return &Features{
		Info:         l.info,
		Capabilities: maps.Clone(l.capabilities),
		Instructions: "Search the catalogue before you lend a book. " +
			"Book ids look like b7, readers are called by their first name.",
		PageSize:  6,
		Tools:     l.tools,
		Resources: l.resources,
		Templates: l.templates,
		Prompts:   l.prompts,
		loans:     map[string]string{"b3": "ines"},
	}
}

// removeSessionCapabilities removes the capabilities that need a session.
func (l *Features) removeSessionCapabilities() {
	delete(l.Capabilities, "tasks")
	delete(l.Capabilities, "logging")
	for _, name := range []string{"prompts", "resources", "tools"} {
		if _, ok := l.Capabilities[name]; ok {
			l.Capabilities[name] = Object{}
		}
	}
}

// lend records a loan; it fails for a book that is lent.
func (l *Features) lend(id, reader string) (holder string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder, lent := l.loans[id]; lent {
		return holder, false
	}
	l.loans[id] = reader
	return reader, true
}

// endLoan ends a loan; it fails for a book that is not lent.
func (l *Features) endLoan(id string) (holder string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	holder, ok = l.loans[id]
	delete(l.loans, id)
	return holder, ok
}

// holder returns the reader who has the book, "" for none.
func (l *Features) holder(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loans[id]
}

// setReadingRoom opens or closes the reading room and reports whether that changed
// it.
func (l *Features) setReadingRoom(open bool) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = l.readingRoomOpen != open
	l.readingRoomOpen = open
	return changed
}

func (l *Features) readingRoomIsOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readingRoomOpen
}
